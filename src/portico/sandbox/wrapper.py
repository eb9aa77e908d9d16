"""The words in front of a command that confine it, handed from a host to an agent of Portico's own in a variable."""

from collections.abc import Mapping

from portico.domain import codecs

WRAPPER_VARIABLE = "PORTICO_SANDBOX_WRAPPER"


def wrapper_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that every program started with this environment has to have in front of it."""
    words = environ.get(WRAPPER_VARIABLE)
    return codecs.decode_json(words, tuple[str, ...]) if words else ()
