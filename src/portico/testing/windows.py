"""In-memory twin of an attached editor window, over real files.

The in-memory twin of `sessions.windows.Window`, with the habits of a real editor: files that were saved are saved
after an edit, unsaved ones stay so, and what an undo brings back is not saved.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from portico.domain.errors import WindowLost, WindowRefused
from portico.domain.ids import SessionId
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
    WindowTool,
)


class MemoryWindow:
    """A window on one folder. A test types into it, has it fail, and looks at what it was asked."""

    def __init__(self, folder: Path, *, edits: bool = True) -> None:
        self.folder = folder
        self.name = "Twin"
        self.abilities = WindowAbilities(buffers=True, edits=edits)
        self.labels: list[str] = []
        self.refuses = False
        """Nothing is done, and that is said."""
        self.deaf = False
        """Edits are lost: nothing is done, and no answer comes."""
        self.lost_after: int | None = None
        """Edits stop after this many files, and no answer comes."""
        self.locked: frozenset[str] = frozenset()
        """Files that can be opened but not saved."""
        self.before_edit: Callable[[], None] = lambda: None
        self._buffers: dict[str, str] = {}
        self._undo: list[dict[str, str | None]] = []

    def type(self, path: str, text: str) -> None:
        """Type a text into the window without saving it."""
        self._buffers[self._name(path)] = text

    def save(self, path: str) -> None:
        self._write(self._name(path), self._buffers.pop(self._name(path)))

    def revert(self, path: str) -> None:
        """Drop the unsaved text."""
        del self._buffers[self._name(path)]

    def text(self, path: str) -> str | None:
        """The text that the window shows."""
        return self._text(self._name(path))

    def undo(self) -> None:
        """Take the last edit back. Files that come back are there; the others are left unsaved."""
        for name, text in self._undo.pop().items():
            if text is None:
                self._buffers.pop(name, None)
                Path(name).unlink()
            elif Path(name).exists():
                self._buffers[name] = text
            else:
                self._write(name, text)

    def unsaved(self) -> frozenset[str]:
        return frozenset(self._buffers)

    async def read(self, session_id: SessionId, path: str) -> str | None:
        if self.deaf:
            raise WindowLost("The Twin window did not answer within 5 s.")
        return self._buffers.get(path)

    async def edit(self, session_id: SessionId, label: str, files: Sequence[WindowEdit]) -> WindowEditResult:
        self.labels.append(label)
        self.before_edit()
        if self.refuses:
            raise WindowRefused("The Twin window would not.")
        if self.deaf:
            raise WindowLost("The Twin window did not answer within 30 s.")
        changed = [one.path for one in files if not _is_same(self._text(one.path), one.expected)]
        if changed:
            return WindowEditResult(applied=False, changed=tuple(changed))
        locked = [one.path for one in files if Path(one.path).name in self.locked]
        if locked:
            return WindowEditResult(applied=False, not_saved=tuple(locked))
        self._undo.append({one.path: self._text(one.path) for one in files})
        for done, one in enumerate(files):
            if done == self.lost_after:
                break
            self._change(one)
        if self.lost_after is not None:
            raise WindowLost("The Twin window did not answer within 30 s.")
        return WindowEditResult(applied=True)

    async def look_up(self, session_id: SessionId, lookup: CodeLookup) -> CodeLookupResult:
        return CodeLookupResult()

    async def dispatch(self, session_id: SessionId, command: TerminalCommand) -> TerminalCommandResult:
        return TerminalCommandResult(sent=False)

    def tools(self, session_id: SessionId) -> Sequence[WindowTool]:
        return ()

    async def invoke(self, session_id: SessionId, invocation: ToolInvocation) -> ToolInvocationResult:
        raise WindowRefused(f"The Twin window has no tool {invocation.name}.")

    def _change(self, one: WindowEdit) -> None:
        if one.content is None:
            self._buffers.pop(one.path, None)
            Path(one.path).unlink()
        elif one.path in self._buffers:
            self._buffers[one.path] = one.content
        else:
            self._write(one.path, one.content)

    def _text(self, name: str) -> str | None:
        if name in self._buffers:
            return self._buffers[name]
        try:
            return Path(name).read_bytes().decode(_encoding(Path(name)))
        except FileNotFoundError:
            return None

    def _write(self, name: str, text: str) -> None:
        place = Path(name)
        encoding = _encoding(place) if place.exists() else "utf-8"
        mark = "\ufeff" if encoding == "utf-16" else ""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(f"{mark}{text}".encode("utf-16-le") if mark else text.encode(encoding))

    def _name(self, path: str) -> str:
        return str(self.folder / path)


class MemoryWindows:
    """Implements `sessions.windows.Windows` with one window, until it is closed."""

    def __init__(self, window: MemoryWindow | None = None) -> None:
        self.window = window

    def of(self, workspace: Path) -> MemoryWindow | None:
        inside = self.window is not None and workspace.resolve().is_relative_to(self.window.folder.resolve())
        return self.window if inside else None


def _encoding(place: Path) -> str:
    begin = place.read_bytes()[:3]
    if begin.startswith(b"\xff\xfe"):
        return "utf-16"
    return "utf-8-sig" if begin == b"\xef\xbb\xbf" else "utf-8"


def _is_same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
