"""Builds what a server needs for attached windows: registry, files and editor tools."""

from portico.components.code.proxy import CodeIntelligence
from portico.conductor.proxy import Proxy
from portico.editors.buffers import AttachedEditorProvider
from portico.editors.local import LocalEditorProvider
from portico.editors.window_registry import AttachedWindows
from portico.sessions.ports import Clock
from portico.sessions.windows import RecordWindowEvent


class EditorWindows:
    """The windows of one server, the files of its sessions with them, and the tools that agents get by them."""

    def __init__(self, local: LocalEditorProvider, clock: Clock, tell: RecordWindowEvent) -> None:
        self.windows = AttachedWindows(clock, tell)
        self.editors = AttachedEditorProvider(local, self.windows, tell)

    def tools(self) -> Proxy:
        """The proxy of one chain that gives agents the tools."""
        return CodeIntelligence(self.windows, self.editors.files)
