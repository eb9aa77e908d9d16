"""Editor windows that people have open on a workspace, as sessions and reviews ask for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from portico.domain.ids import SessionId
from portico.domain.windows import (
    CommandDispatched,
    LookedUp,
    Lookup,
    TerminalCommand,
    WindowAbilities,
    WindowEdit,
    WindowEdited,
)


class Window(Protocol):
    """One attached window. Every request ends: with an answer, or NetworkTimeout when the window is gone or silent."""

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

    async def edit(self, session_id: SessionId, label: str, files: Sequence[WindowEdit]) -> WindowEdited:
        """Change files as one step that one undo takes back, and save those that had been saved before."""
        ...

    async def look_up(self, session_id: SessionId, lookup: Lookup) -> LookedUp: ...

    async def dispatch(self, session_id: SessionId, command: TerminalCommand) -> CommandDispatched: ...


class Windows(Protocol):
    def of(self, workspace: Path) -> Window | None:
        """The window that a person last used on a folder, if one is attached."""
        ...


class NoWindows:
    """Implements `Windows` where no editor can attach itself."""

    def of(self, workspace: Path) -> Window | None:
        return None
