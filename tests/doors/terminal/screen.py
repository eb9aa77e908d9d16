"""A small terminal: takes what a renderer writes and tells what a person would see."""

import re

from rich.cells import cell_len

_TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b\]8;[^\x1b]*\x1b\\|[\r\n]|[^\x1b\r\n]+|(?P<bad>\x1b)")


class Screen:
    """Knows exactly the sequences a renderer may use. Any other one fails the test."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.width = width
        self.height = height
        self.raw = ""
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._column = 0

    def write(self, text: str) -> int:
        self.raw += text
        for token in _TOKEN.finditer(text):
            assert not token["bad"], f"a sequence that does not belong on a terminal in {text!r}"
            if token[2]:
                self._obey(token[1], token[2])
            elif token[0] == "\n":
                self._row, self._column = self._row + 1, 0
                if self._row == len(self._rows):
                    self._rows.append([])
            elif token[0] == "\r":
                self._column = 0
            elif not token[0].startswith("\x1b"):
                self._put(token[0])
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:
        return "utf-8"

    @property
    def text(self) -> str:
        """All lines, those that have scrolled away included."""
        lines = ["".join(row).rstrip() for row in self._rows]
        return "\n".join(lines).rstrip("\n") + "\n"

    @property
    def cursor_at_line_start(self) -> bool:
        return self._column == 0 and not "".join(self._rows[self._row]).strip()

    def _put(self, text: str) -> None:
        for character in text:
            columns = cell_len(character)
            assert self._column + columns <= self.width, f"a line wider than the terminal: {text!r}"
            row = self._rows[self._row]
            row.extend(" " * (self._column - len(row)))
            if columns == 0:
                if self._column:
                    row[self._column - 1] += character
                continue
            row[self._column : self._column + columns] = [character] + [""] * (columns - 1)
            self._column += columns

    def _obey(self, numbers: str, command: str) -> None:
        match command:
            case "A":
                self._row -= int(numbers or 1)
                top = max(0, len(self._rows) - self.height)
                assert self._row >= top, "the cursor went up into lines that have scrolled away"
            case "K" if numbers == "2":
                self._rows[self._row] = []
            case "J" if numbers in ("", "0"):
                del self._rows[self._row + 1 :]
                del self._rows[self._row][self._column :]
            case "m" | "h" | "l":
                assert command == "m" or numbers == "?2026"
            case _:
                raise AssertionError(f"a sequence that does not belong on a terminal: {numbers}{command}")
