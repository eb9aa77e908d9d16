"""Line input for the fields of a question.

Esc or Ctrl-C declines the question. On a terminal that cannot move its cursor, Esc needs an Enter.
"""

import sys
from typing import Protocol

from portico.doors.terminal.input.line_reader import LineReader, terminal_lines
from portico.doors.terminal.input.terminal_mode import echo, interrupt_as_key
from portico.doors.terminal.output import is_plain_output, make_writer

_ESCAPE = "\x1b"


class FieldInput(Protocol):
    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        """The line typed at the prompt; None if the person declines. A secret is not echoed."""
        ...

    def close(self) -> None: ...


class LineFieldInput:
    """Whole lines, edited by the terminal itself."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        self._write = make_writer(sys.stderr)
        lines.discard_typed_ahead()

    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        descriptor = self._lines.descriptor
        typed = None
        try:
            # Before the prompt is shown: Ctrl-C may be pressed as soon as it is.
            with interrupt_as_key(descriptor), echo(descriptor, shown=not secret):
                self._write(prompt)
                typed = await self._lines.read_line()
        finally:
            if typed is None or secret:
                self._write("\n")
        return None if typed is None or _ESCAPE in typed else typed

    def close(self) -> None:
        self._lines.close()


def open_field_input(term: str) -> FieldInput | None:
    """The input for the person's terminal; None without a terminal."""
    lines = terminal_lines()
    if lines is None or is_plain_output(sys.stderr, term) or not sys.stdin.isatty():
        return None if lines is None else LineFieldInput(lines)
    from portico.doors.terminal.input.editable_field_input import EditableFieldInput

    lines.discard_typed_ahead()
    lines.close()
    return EditableFieldInput()
