"""The words in front of a command that confine it, handed from a host to an agent of Portico's own in a variable."""

from collections.abc import Mapping

import msgspec

WRAPPER_VARIABLE = "PORTICO_SANDBOX_WRAPPER"
_WORDS: "msgspec.json.Decoder[tuple[str, ...]]" = msgspec.json.Decoder(tuple[str, ...])


def wrapper_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that every program started with this environment has to have in front of it."""
    words = environ.get(WRAPPER_VARIABLE)
    return _WORDS.decode(words) if words else ()
