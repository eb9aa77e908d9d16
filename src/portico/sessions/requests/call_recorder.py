"""Records commands and file writes that an agent requests from the host, as tool calls in the log.

They belong to the agent's own tool call if one names the command or the file; else one is made for them.
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
        fields = {
            "command": request.command,
            "args": list(request.args),
            "cwd": request.cwd,
            "env": dict(request.env),
        }
        raw_input = msgspec.Raw(msgspec.json.encode({name: value for name, value in fields.items() if value}))
        line = command_line_of((request.command, *request.args))
        for payload in self._session.tools.ran(terminal_id, line, raw_input):
            self._session.journal.record(payload)

    def settled(self, terminal_id: str) -> None:
        """The agent has waited for a command, or released it."""
        for payload in self._session.tools.settled(terminal_id):
            self._session.journal.record(payload)

    def has_tool_call(self, path: str) -> bool:
        """Whether an open tool call names a file."""
        return any(self._place(named) == self._place(path) for named in self._session.tools.named_paths())

    async def text_before(self, path: str) -> str | None:
        """The text of a file on disk; None if it is new, binary or too long.

        Not read from the editor, which would take it for a read by the agent and let it overwrite unseen changes.
        """
        return await asyncio.to_thread(self._text_on_disk, path)

    def wrote(self, path: str, old: str | None, new: str) -> None:
        """Record a file write that no tool call names."""
        for payload in self._session.tools.wrote(self._place(path), old, new):
            self._session.record_tool(payload)

    def _text_on_disk(self, path: str) -> str | None:
        root = Path(os.path.realpath(self._folder or self._session.workspace))
        place = Path(os.path.realpath(root / path))
        try:
            within = place.is_relative_to(root)
            return real_path.read(place, limit=MAX_WRITTEN_CHARACTERS).decode() if within else None
        except (OSError, ValueError):
            return None

    def _place(self, path: str) -> str:
        """The path of a file in the workspace, also for a file of a working copy."""
        workspace = str(self._session.workspace)
        place = os.path.normpath(os.path.join(self._folder or workspace, path))  # noqa: PTH118 - text in, text out
        if self._folder is not None and Path(place).is_relative_to(self._folder):
            return os.path.join(workspace, os.path.relpath(place, self._folder))  # noqa: PTH118
        return place
