"""Finds the line that a step of a tour is about: by its number, or by the symbol when lines have moved."""

import re
from collections.abc import Sequence

_DEFINES = frozenset(
    {
        "def", "class", "function", "fn", "func", "fun", "sub", "proc", "const", "let", "var", "val",
        "type", "interface", "struct", "enum", "trait", "impl", "mod", "module", "namespace", "object",
        "record", "static", "public", "private", "protected", "internal", "export", "abstract", "final",
        "async", "macro", "define", "union", "protocol", "extension",
    }
)  # fmt: skip
_MENTIONS = frozenset(
    {
        "extends", "implements", "return", "import", "from", "new", "throw", "raise", "await", "yield",
        "if", "while", "for", "in", "is",
    }
)  # fmt: skip
_RECEIVER = re.compile(r"^(\s*func\s*)\([^()]*\)")


def find_place(lines: Sequence[str], line: int, symbol: str) -> int | None:
    """The number of the line, counting from 1; None if neither the line nor the symbol is there.

    A symbol may be named with what it is in, as in `Cart.total`.
    """
    if not symbol:
        return line if 1 <= line <= len(lines) else None
    *outer, name = re.split(r"[.:#]+", symbol.strip("()"))
    if 1 <= line <= len(lines) and _word(name).search(lines[line - 1]):
        return line
    first = 1
    for one in outer:
        first = _definition(lines, one, first, 0) or first
    return _definition(lines, name, first, line) or _definition(lines, name, 1, line)


def _definition(lines: Sequence[str], name: str, first: int, near: int) -> int | None:
    """The line from `first` on that most looks like the definition of a name; of equals, the one nearest to `near`."""
    word = _word(name)
    found = [number for number, text in enumerate(lines, 1) if number >= first and word.search(text)]
    if not found:
        return None
    return min(
        found, key=lambda number: (_rank(lines[number - 1], word), abs(number - near) if near else number)
    )


def _rank(text: str, word: re.Pattern[str]) -> int:
    """0 for a definition by keyword, 1 for a line that begins with the name, 2 for a mention."""
    text = _RECEIVER.sub(r"\1", text)
    match = word.search(text)
    if match is None:
        return 2
    before = text[: match.start()]
    words = set(re.findall(r"\w+", before))
    if words & _DEFINES and not words & _MENTIONS and not set(before) & set("(=;"):
        return 0
    return 1 if not before.strip() and re.match(r"\s*[(:=<]", text[match.end() :]) else 2


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
