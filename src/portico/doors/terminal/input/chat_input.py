"""Source of chat prompts: an editable line on a terminal, or lines from a pipe."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.prompt_blanks import ChatPrompt
from portico.doors.terminal.output import is_plain_output


class ChatInput(Protocol):
    async def read(self) -> str | None:
        """The next prompt, never blank; None when the person exits.

        After a cancelled read, the next one begins with what was typed.
        """
        ...


class PlainChatInput:
    """Prompts from a pipe or file: one per line; a backslash at the end joins the next line."""

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        self._begun = ""

    async def read(self) -> str | None:
        while (line := await self._lines.read_line()) is not None:
            if line.endswith("\\"):
                self._begun += line[:-1] + "\n"
                continue
            prompt, self._begun = self._begun + line, ""
            if prompt.strip():
                return prompt
        prompt, self._begun = self._begun, ""
        return prompt if prompt.strip() else None


def open_chat_input(
    status: Callable[[], ChatStatus],
    prompts: Callable[[], Iterable[ChatPrompt]],
    *,
    history: Path,
    term: str,
) -> ChatInput:
    """The input for standard input and output. `history` is the file for the arrow keys."""
    if not sys.stdin.isatty() or is_plain_output(sys.stdout, term):
        return PlainChatInput(LineReader(sys.stdin.fileno()))
    from portico.doors.terminal.input.chat_line import ChatLine

    return ChatLine(status, prompts, history=history)
