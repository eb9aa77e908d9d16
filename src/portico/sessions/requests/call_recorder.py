"""Records the commands and file writes that an agent has the host do, as tool calls in the log.

An agent's own tool call tells it if it names the command or the file; else a card is made for it.
"""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico.domain.command_line import command_line_of
from portico.domain.values import TerminalOutput
from portico.files import real_path
from portico.sessions.content.tool_calls import MAX_WRITTEN_CHARACTERS
from portico.sessions.ports import TerminalRequest

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime


class ClientCallRecorder:
    def __init__(self, session: "SessionRuntime", folder: Path | None) -> None:
        self._session = session
        self._folder = folder

    def heard(self, output: TerminalOutput) -> None:
        self._session.hear()
        for payload in self._session.tools.hear(output):
            self._session.journal.record(payload)

    def ran(self, terminal_id: str, request: TerminalRequest) -> None:
        """A command was started."""
        told = {
            "command": request.command,
            "args": list(request.args),
            "cwd": request.cwd,
            "env": dict(request.env),
        }
        raw_input = msgspec.Raw(msgspec.json.encode({name: value for name, value in told.items() if value}))
        line = command_line_of((request.command, *request.args))
        for payload in self._session.tools.ran(terminal_id, line, raw_input):
            self._session.journal.record(payload)

    def settled(self, terminal_id: str) -> None:
        """The agent knows how a command ended, or has no more use for it."""
        for payload in self._session.tools.settled(terminal_id):
            self._session.journal.record(payload)

    def has_tool_call(self, path: str) -> bool:
        """Whether a tool call that is under way names a file."""
        return any(self._place(named) == self._place(path) for named in self._session.tools.named_paths())

    async def text_before(self, path: str) -> str | None:
        """What a file has on disk; None for one that is new, or no text, or too long to be told.

        Not asked of the editor, who takes a read for the agent's: it would overwrite what it has not seen.
        """
        return await asyncio.to_thread(self._text_on_disk, path)

    def wrote(self, path: str, old: str | None, new: str) -> None:
        """A file was written that no tool call names."""
        for payload in self._session.tools.wrote(self._place(path), old, new):
            self._session.journal.record(payload)

    def _text_on_disk(self, path: str) -> str | None:
        root = Path(os.path.realpath(self._folder or self._session.workspace))
        place = Path(os.path.realpath(root / path))
        try:
            within = place.is_relative_to(root)
            return real_path.read(place, limit=MAX_WRITTEN_CHARACTERS).decode() if within else None
        except (OSError, ValueError):
            return None

    def _place(self, path: str) -> str:
        """Where a file is for the person; a session's own folder stands for the workspace."""
        workspace = str(self._session.workspace)
        place = os.path.normpath(os.path.join(self._folder or workspace, path))  # noqa: PTH118 - text in, text out
        if self._folder is not None and Path(place).is_relative_to(self._folder):
            return os.path.join(workspace, os.path.relpath(place, self._folder))  # noqa: PTH118
        return place
