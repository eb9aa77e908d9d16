"""One line at a time from the person at the terminal, for the fields of a question.

Esc or Ctrl-C says no to the whole question. On a terminal that cannot move its cursor, Esc is
followed by Enter there.
"""

import sys
from typing import Protocol

from portico.doors.terminal.echo import echo, interrupt_as_key
from portico.doors.terminal.lines import LineReader, terminal_lines
from portico.doors.terminal.renderers import suits_plain, writer

_ESCAPE = "\x1b"


class Entry(Protocol):
    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        """What was typed behind the prompt; None if the person wants none of this. A secret is not shown."""
        ...

    def close(self) -> None: ...


class LineEntry:
    """Whole lines as the terminal itself edits them."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        self._write = writer(sys.stderr)
        lines.drop_typed_ahead()

    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        descriptor = self._lines.descriptor
        typed = None
        try:
            # Before the prompt: whoever sees it may press Ctrl-C at once.
            with interrupt_as_key(descriptor), echo(descriptor, shown=not secret):
                self._write(prompt)
                typed = await self._lines.read_line()
        finally:
            if typed is None or secret:
                self._write("\n")
        return None if typed is None or _ESCAPE in typed else typed

    def close(self) -> None:
        self._lines.close()


def open_entry(term: str) -> Entry | None:
    """The entry that suits the person's terminal; None when there is no terminal."""
    lines = terminal_lines()
    if lines is None or suits_plain(sys.stderr, term) or not sys.stdin.isatty():
        return None if lines is None else LineEntry(lines)
    from portico.doors.terminal.prompt_entry import PromptEntry

    lines.drop_typed_ahead()
    lines.close()
    return PromptEntry()
