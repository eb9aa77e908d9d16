"""The command prefix that confines a program, handed to agents of Portico's own in an environment variable."""

from collections.abc import Mapping

from portico.domain import codecs

WRAPPER_VARIABLE = "PORTICO_SANDBOX_WRAPPER"


def sandbox_wrapper(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that every program started with this environment has to have in front of it."""
    words = environ.get(WRAPPER_VARIABLE)
    return codecs.decode_json(words, tuple[str, ...]) if words else ()
