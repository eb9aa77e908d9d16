"""A program and its arguments as one command line."""

import re
from collections.abc import Sequence

_SHELL = re.compile(r"(?:/usr)?(?:/bin/)?(?:sh|bash|zsh|dash)")
_TAKES_LINE = re.compile(r"-l?c")


def command_line_of(words: Sequence[str]) -> str:
    """The words in one line; a shell that is given one line is that line."""
    if len(words) == 3 and _SHELL.fullmatch(words[0]) and _TAKES_LINE.fullmatch(words[1]):
        return words[2]
    return " ".join(words)
