"""Registry of attached editor windows, by the folders they have open."""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.domain.problems import Problem
from portico.domain.windows import WindowIntroduction, WindowResult, WindowTool, WindowUpdate
from portico.editors.problem_reports import WindowProblems
from portico.editors.window import AttachedWindow
from portico.editors.window_folders import WindowFolders
from portico.sessions.ports import Clock
from portico.sessions.windows import RecordWindowEvent

MOST_WINDOWS = 64


class AttachedWindows:
    """Implements `sessions.windows.Windows` for sessions, and `WindowRegistry` for doors."""

    def __init__(self, clock: Clock, tell: RecordWindowEvent) -> None:
        self._clock = clock
        self._tell = tell
        self._windows: dict[str, AttachedWindow] = {}
        self._order = itertools.count(1)
        self.problems = WindowProblems(self._reports_problems)

    def of(self, workspace: Path) -> AttachedWindow | None:
        """The focused window of a folder, else the one that was used last."""
        if not self._windows:
            return None
        real = Path(os.path.realpath(workspace))
        found = [window for window in self._windows.values() if window.folders.touch(real)]
        return max(found, key=lambda window: (window.focused, window.used), default=None)

    async def attach(self, introduction: WindowIntroduction) -> AsyncGenerator[WindowUpdate]:
        if not introduction.folders:
            raise InvalidInput("The editor names no folder.", suggestion="Attach it with what it has open.")
        if len(self._windows) >= MOST_WINDOWS:
            raise InvalidInput(
                f"{MOST_WINDOWS} editor windows are attached already.", suggestion="Close one of them."
            )
        folders = await asyncio.to_thread(WindowFolders, introduction.folders)
        window = AttachedWindow(introduction, folders, self._clock, self._tell)
        window.used = next(self._order)
        self._windows[window.id] = window
        try:
            async with aclosing(window.updates()) as updates:
                async for update in updates:
                    yield update
        finally:
            del self._windows[window.id]
            window.leave()
            self.problems.forget(window.id)

    def reply(self, request_id: str, answer: WindowResult) -> None:
        for window in self._windows.values():
            if window.waits_for(request_id):
                window.reply(request_id, answer)
                return
        raise InvalidInput(
            f"No request {request_id} is waiting for an answer.",
            suggestion="It was answered or cancelled already, or its deadline has passed.",
        )

    def update_tools(
        self, editor_id: str, session_id: SessionId | None, tools: Sequence[WindowTool] | None
    ) -> None:
        self._attached(editor_id).update_tools(session_id, tools)

    def update_problems(self, editor_id: str, path: str, problems: Sequence[Problem]) -> None:
        real = self._attached(editor_id).folders.real(path)
        self.problems.update(editor_id, real, problems)

    def update_status(self, editor_id: str, unsaved: Sequence[str], *, focused: bool) -> None:
        window = self._attached(editor_id)
        if focused and not window.focused:
            window.used = next(self._order)
        window.update_status(unsaved, focused=focused)

    def _reports_problems(self, workspace: Path) -> bool:
        window = self.of(workspace)
        return window is not None and window.abilities.lookups

    def _attached(self, editor_id: str) -> AttachedWindow:
        window = self._windows.get(editor_id)
        if window is None:
            raise InvalidInput(f"The editor {editor_id!r} is not attached.", suggestion="Attach it again.")
        return window
