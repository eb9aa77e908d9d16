"""Interfaces to attached editor windows, as sessions, reviews and doors use them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Protocol

from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.domain.problems import Problem
from portico.domain.windows import (
    CodeLookup,
    CodeLookupResult,
    TerminalCommand,
    TerminalCommandResult,
    ToolInvocation,
    ToolInvocationResult,
    WindowAbilities,
    WindowEdit,
    WindowEditResult,
    WindowIntroduction,
    WindowResult,
    WindowTool,
    WindowUpdate,
)

RecordWindowEvent = Callable[[SessionId, AnyPayload], None]
"""Adds an event to the log of a session soon, without waiting for it."""


class Window(Protocol):
    """One attached window. Every request ends: with an answer, with WindowRefused if the window did not do it, or with
    WindowLost if it is gone or silent and the outcome is unknown."""

    @property
    def name(self) -> str:
        """Display name: "VS Code"."""
        ...

    @property
    def abilities(self) -> WindowAbilities: ...

    def unsaved(self) -> frozenset[str]:
        """Absolute paths of files whose text in the window differs from the disk."""
        ...

    async def read(self, session_id: SessionId, path: str) -> str | None:
        """The unsaved text of a file; None if the window has none."""
        ...

    async def edit(self, session_id: SessionId, label: str, files: Sequence[WindowEdit]) -> WindowEditResult:
        """Change files in one undoable step, and save those that had no unsaved changes."""
        ...

    async def look_up(self, session_id: SessionId, lookup: CodeLookup) -> CodeLookupResult: ...

    async def dispatch(self, session_id: SessionId, command: TerminalCommand) -> TerminalCommandResult: ...

    def tools(self, session_id: SessionId) -> Sequence[WindowTool]:
        """The tools that the window offers to a session now."""
        ...

    async def invoke(self, session_id: SessionId, invocation: ToolInvocation) -> ToolInvocationResult:
        """Call one of its tools."""
        ...


class Windows(Protocol):
    def of(self, workspace: Path) -> Window | None:
        """The attached window that the person last used on a folder, if any."""
        ...


class WindowRegistry(Protocol):
    """Attached windows, as a door registers them."""

    def attach(self, introduction: WindowIntroduction) -> AsyncGenerator[WindowUpdate]:
        """Attach a window until the generator is closed; yields its id, then requests for it."""
        ...

    def reply(self, request_id: str, answer: WindowResult) -> None:
        """Deliver the answer of a window. InvalidInput if the request is not open."""
        ...

    def update_status(self, editor_id: str, unsaved: Sequence[str], *, focused: bool) -> None:
        """Update the unsaved files and the focus of a window. InvalidInput if it is not attached."""
        ...

    def update_problems(self, editor_id: str, path: str, problems: Sequence[Problem]) -> None:
        """Replace the problems that a window has of a file. InvalidInput if it is not attached."""
        ...

    def update_tools(
        self, editor_id: str, session_id: SessionId | None, tools: Sequence[WindowTool] | None
    ) -> None:
        """Replace the tools of a window, for one session or for all that have no list of their own.

        None withdraws the list of a session. InvalidInput if the window is not attached.
        """
        ...
