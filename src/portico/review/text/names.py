"""File names for messages and records."""

from collections.abc import Sequence

_NAMED = 5


def name_some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are: "a, b, c, d, e and 3 more"."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def is_text(name: str) -> bool:
    """Whether a file name can be encoded as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_bytes(name: str) -> str:
    """A file name as text; bytes that are not text are escaped."""
    return name.encode(errors="backslashreplace").decode()
