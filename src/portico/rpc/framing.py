"""Splits a byte stream into lines of bounded length, one message per line.

A longer line is dropped, and reported by its size and its two ends.
"""

import msgspec

MAX_LINE = 32 * 1024 * 1024
# Some programs begin their output with this mark of UTF-8; it is not part of a message.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_END = 1024


class OverlongLine(msgspec.Struct, frozen=True):
    """Replaces a line that was too long: its size, its first bytes and its last."""

    size: int
    head: bytes = b""
    tail: bytes = b""


class LineSplitter:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes | OverlongLine]:
        """The lines that `chunk` completes, without their newline."""
        whole = chunk.split(b"\n")
        last = whole.pop()
        lines: list[bytes | OverlongLine] = [*whole]
        if len(chunk) > self._limit:
            lines = [line if len(line) <= self._limit else _overlong(len(line), line) for line in whole]
        if whole and (self._size or self._at_start):
            self._keep(whole[0])
            lines[0] = self._take()
        if last:
            self._keep(last)
        return lines

    @property
    def pending(self) -> bool:
        """Whether a line has begun that no newline has ended."""
        return self._size > 0

    def end(self) -> bytes | OverlongLine | None:
        """The last line, if the stream ended without a newline."""
        return self._take() if self._size else None

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if part:
            self._parts.append(part)
        if self._size > self._limit:
            ends = _overlong(self._size, b"".join(self._parts))
            self._parts = [ends.head, ends.tail]

    def _take(self) -> bytes | OverlongLine:
        size, parts, at_start = self._size, self._parts, self._at_start
        self._size, self._parts, self._at_start = 0, [], False
        if size > self._limit:
            return _overlong(size, b"".join(parts))
        line = parts[0] if len(parts) == 1 else b"".join(parts)
        return line.removeprefix(_BYTE_ORDER_MARK) if at_start else line


def _overlong(size: int, line: bytes) -> OverlongLine:
    return OverlongLine(size, line[:_END], line[_END:][-_END:])
