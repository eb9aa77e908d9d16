"""Builds what a server needs for attached windows: registry, files and editor tools."""

from collections.abc import Callable
from functools import partial

from portico.components.code.proxy import CodeIntelligence
from portico.conductor.proxy import Proxy
from portico.editors.buffers import AttachedEditorProvider
from portico.editors.local import LocalEditorProvider
from portico.editors.window_registry import AttachedWindows
from portico.sessions.ports import Clock
from portico.sessions.windows import RecordWindowEvent


class EditorWindows:
    """Attached windows of one server, with the files and the tools that sessions get from them."""

    def __init__(self, local: LocalEditorProvider, clock: Clock, tell: RecordWindowEvent) -> None:
        self.windows = AttachedWindows(clock, tell)
        self.editors = AttachedEditorProvider(local, self.windows, tell)
        self.tools: Callable[[], Proxy] = partial(CodeIntelligence, self.windows, self.editors.files)
        """Makes the proxy of one chain that gives agents the editor tools."""
