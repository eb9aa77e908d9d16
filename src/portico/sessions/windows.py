"""Interfaces to attached editor windows, as sessions, reviews and doors use them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Protocol

from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.domain.windows import (
    CodeLookup,
    CodeLookupResult,
    TerminalCommand,
    TerminalCommandResult,
    WindowAbilities,
    WindowEdit,
    WindowEditResult,
    WindowIntroduction,
    WindowResult,
    WindowUpdate,
)

RecordWindowEvent = Callable[[SessionId, AnyPayload], None]
"""Writes down in the log of a session what was done for it, soon: whoever tells it waits for nothing."""


class Window(Protocol):
    """One attached window. Every request ends: with an answer, with WindowRefused when the window has not done it,
    or with WindowLost when it is gone or silent and nobody knows."""

    @property
    def name(self) -> str:
        """For people: "VS Code"."""
        ...

    @property
    def abilities(self) -> WindowAbilities: ...

    def unsaved(self) -> frozenset[str]:
        """Absolute paths of files whose text in the window differs from the disk."""
        ...

    async def read(self, session_id: SessionId, path: str) -> str | None:
        """The text of a file as the window has it; None when it has no text of its own."""
        ...

    async def edit(self, session_id: SessionId, label: str, files: Sequence[WindowEdit]) -> WindowEditResult:
        """Change files as one step that one undo takes back, and save those that had been saved before."""
        ...

    async def look_up(self, session_id: SessionId, lookup: CodeLookup) -> CodeLookupResult: ...

    async def dispatch(self, session_id: SessionId, command: TerminalCommand) -> TerminalCommandResult: ...


class Windows(Protocol):
    def of(self, workspace: Path) -> Window | None:
        """The window that a person last used on a folder, if one is attached."""
        ...


class NoWindows:
    """Implements `Windows` where no editor can attach itself."""

    def of(self, workspace: Path) -> Window | None:
        return None


class WindowRegistry(Protocol):
    """Windows as a door brings them."""

    def attach(self, introduction: WindowIntroduction) -> AsyncGenerator[WindowUpdate]:
        """Lend a window to sessions until this is closed. What comes: its id, then what it is asked."""
        ...

    def reply(self, request_id: str, answer: WindowResult) -> None:
        """What a window answers. InvalidInput if nobody asked that, or not any more."""
        ...

    def update_status(self, editor_id: str, unsaved: Sequence[str], *, focused: bool) -> None:
        """How a window stands now. InvalidInput for one that is not attached."""
        ...
