"""Files of a workspace, with unsaved text read from and written to the attached window.

A file with unsaved text in the window is read and changed there; every other file is read and written on the disk.
Unsaved work is never overwritten unseen: a change names the text it applies to.
"""

import asyncio
from collections import OrderedDict
from pathlib import Path

from portico.domain.errors import InvalidInput, WindowLost, WindowRefused
from portico.domain.events import Notice
from portico.domain.ids import SessionId
from portico.domain.windows import WindowEdit
from portico.editors.files import LocalFiles, lines_of
from portico.editors.local import LocalEditor, LocalEditorProvider
from portico.editors.path_guard import FileAccess
from portico.editors.window_registry import AttachedWindows
from portico.sessions.ports import Clock, Editor
from portico.sessions.windows import RecordWindowEvent, Window, Windows

MOST_REMEMBERED = 64


class AttachedEditorProvider:
    """Implements `sessions.ports.EditorProvider`. A session with a working copy has the files in that."""

    def __init__(self, local: LocalEditorProvider, windows: Windows, tell: RecordWindowEvent) -> None:
        self._local = local
        self._windows = windows
        self._tell = tell

    def open(
        self, workspace: Path, *, folder: Path | None = None, session_id: SessionId | None = None
    ) -> Editor:
        editor = self._local.open(workspace, folder=folder)
        if folder is not None or session_id is None:
            return editor
        return LocalEditor(self.files(session_id, workspace), editor.terminals)

    def files(self, session_id: SessionId, workspace: Path) -> "BufferedFiles":
        """The person's own files, for a session."""
        return BufferedFiles(session_id, workspace, self._windows, self._tell)


class EditorWindows:
    """Attached windows of one server, with the files that sessions get from them."""

    def __init__(self, local: LocalEditorProvider, clock: Clock, tell: RecordWindowEvent) -> None:
        self.windows = AttachedWindows(clock, tell)
        self.editors = AttachedEditorProvider(local, self.windows, tell)


class BufferedFiles:
    """The files of one session."""

    def __init__(
        self, session_id: SessionId, workspace: Path, windows: Windows, tell: RecordWindowEvent
    ) -> None:
        self._session_id = session_id
        self._workspace = workspace
        self._disk = LocalFiles(workspace)
        self._windows = windows
        self._tell = tell
        self._seen: OrderedDict[str, str] = OrderedDict()
        """The texts of unsaved files as the agent last read or wrote them."""
        self._complained_of: Window | None = None

    async def read_text(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        unsaved = await self._unsaved(path, FileAccess.READ)
        text = None if unsaved is None else await self._buffer(*unsaved)
        if text is None:
            return await self._disk.read_text(path, line=line, limit=limit)
        return text if line is None and limit is None else lines_of(text, line, limit)

    async def write_text(self, path: str, content: str) -> None:
        unsaved = await self._unsaved(path, FileAccess.WRITE)
        if unsaved is None:
            await self._disk.write_text(path, content)
        else:
            await self._change(path, content, *unsaved)

    async def _unsaved(self, path: str, access: FileAccess) -> tuple[Window, str] | None:
        """The window with unsaved text of the file, and the file's name there."""
        window = self._windows.of(self._workspace)
        if window is None or not window.abilities.buffers:
            return None
        unsaved = window.unsaved()
        if not unsaved:
            return None
        names = await asyncio.to_thread(self._disk.guard.names, path, access)
        return next(((window, name) for name in names if name in unsaved), None)

    async def _buffer(self, window: Window, name: str) -> str | None:
        try:
            text = await window.read(self._session_id, name)
        except (WindowLost, WindowRefused) as error:
            self._complain(window, name, error)
            return None
        self._complained_of = None
        if text is not None:
            self._remember(name, text)
        return text

    async def _change(self, path: str, content: str, window: Window, name: str) -> None:
        expected = self._seen.get(name)
        if not window.abilities.edits:
            raise InvalidInput(
                f"{path} has unsaved changes in {window.name}; it was left as it was. "
                "Ask the person to save or discard them, then write it again."
            )
        if expected is None:
            raise InvalidInput(
                f"{path} has unsaved changes in {window.name} that you have not read; it was left as it was. "
                "Read it first, then write it again."
            )
        edit = WindowEdit(path=name, expected=expected, content=content)
        try:
            edited = await window.edit(self._session_id, f"Portico: change {Path(name).name}", [edit])
        except WindowRefused as error:
            raise InvalidInput(
                f"{path} has unsaved changes in {window.name}, and it could not be changed there: "
                f"{error.message} Ask the person to save or discard their changes, then write it again."
            ) from error
        except WindowLost as error:
            raise WindowLost(
                f"{path} has unsaved changes in {window.name}, and the window did not confirm whether it was "
                f"changed there: {error.message} Read it again before you go on.",
                suggestion=error.suggestion,
            ) from error
        if edited.not_saved:
            raise InvalidInput(
                f"{path} could not be saved in {window.name}; it was left as it was. "
                "Ask the person to make it writable, then write it again."
            )
        if not edited.applied:
            raise InvalidInput(
                f"{path} was changed in {window.name} since you read it; it was left as it was. "
                "Read it again, then write it again."
            )
        self._remember(name, content)

    def _remember(self, name: str, text: str) -> None:
        self._seen[name] = text
        self._seen.move_to_end(name)
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)

    def _complain(self, window: Window, name: str, error: WindowLost | WindowRefused) -> None:
        """Warn once per window that the agent does not see unsaved changes."""
        if self._complained_of is not window:
            self._complained_of = window
            what = f"The agent read {Path(name).name} as it is on the disk, without your unsaved changes."
            self._tell(
                self._session_id,
                Notice(level="warning", text=f"{what} {error.message}", details=error.suggestion),
            )
