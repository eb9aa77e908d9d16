"""Builds what a server needs for attached windows: their registry and files."""

from portico.editors.buffers import AttachedEditorProvider
from portico.editors.local import LocalEditorProvider
from portico.editors.window_registry import AttachedWindows
from portico.sessions.ports import Clock
from portico.sessions.windows import RecordWindowEvent


class EditorWindows:
    """Attached windows of one server, with the files that sessions get from them."""

    def __init__(self, local: LocalEditorProvider, clock: Clock, tell: RecordWindowEvent) -> None:
        self.windows = AttachedWindows(clock, tell)
        self.editors = AttachedEditorProvider(local, self.windows, tell)
