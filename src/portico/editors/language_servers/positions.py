"""Columns in the units of a position encoding, and changes of a text as one range."""

import re
from bisect import bisect_right
from typing import Literal

from portico.editors.language_servers.wire import LspPosition, LspRange

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: tuple[PositionEncoding, ...] = ("utf-16", "utf-8", "utf-32")
"""Encodings that a server may choose from; the first is the default."""
_LINE_END = re.compile(r"\r\n|\n|\r")


def to_units(text: str, encoding: PositionEncoding) -> int:
    """The length of a text in units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode(errors="surrogatepass"))
    return len(text) + sum(1 for letter in text if ord(letter) > 0xFFFF)


def to_characters(line: str, units: int, encoding: PositionEncoding) -> int:
    """Number of characters in the first `units` of a line; all of them if there are fewer."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    seen = 0
    for number, letter in enumerate(line):
        if seen >= units:
            return number
        seen += to_units(letter, encoding)
    return len(line)


class TextLines:
    """A text with the places of its lines, which end with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = _line_starts(text)

    def line(self, number: int) -> str:
        """A line without its end; empty if there is none of this number."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def offset(self, position: LspPosition, encoding: PositionEncoding) -> int:
        """The index of a position in the text; one behind the end of its line is that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        return self._starts[position.line] + to_characters(
            self.line(position.line), position.character, encoding
        )

    def position(self, offset: int, encoding: PositionEncoding) -> LspPosition:
        number = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[number] : offset]
        return LspPosition(line=number, character=to_units(before, encoding))


def difference(old: str, new: str, encoding: PositionEncoding) -> tuple[LspRange, str]:
    """The one range of the old text that the new one replaces, and its replacement."""
    most = min(len(old), len(new))
    start = _common(old, new, most)
    # A range must not begin or end within a line end.
    if 0 < start < max(len(old), len(new)) and old[start - 1 : start] == "\r":
        start -= 1
    end = _common(old[start:][::-1], new[start:][::-1], most - start)
    stop = len(old) - end
    if end and old[stop : stop + 1] == "\n" and old[stop - 1 : stop] == "\r":
        end -= 1
        stop += 1
    lines = TextLines(old)
    changed = LspRange(start=lines.position(start, encoding), end=lines.position(stop, encoding))
    return changed, new[start : len(new) - end]


def _common(first: str, second: str, most: int) -> int:
    """The length of the common beginning of two texts, found by halving."""
    if first[:most] == second[:most]:
        return most
    low, high = 0, most
    while low + 1 < high:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(found.end() for found in _LINE_END.finditer(text))]
    starts, end = [0], text.find("\n")
    while end >= 0:
        starts.append(end + 1)
        end = text.find("\n", end + 1)
    return starts
