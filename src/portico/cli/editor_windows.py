"""Builds what a server needs so that editor windows can attach themselves to its sessions."""

from portico.conductor.proxy import Proxy
from portico.editors.attached import AttachedWindows
from portico.editors.buffers import AttachedEditors
from portico.editors.local import LocalEditors
from portico.knowledge.code_intelligence import CodeIntelligence
from portico.sessions.ports import Clock
from portico.sessions.windows import Tell


class EditorWindows:
    """The windows of one server, the files of its sessions with them, and the tools that agents get by them."""

    def __init__(self, local: LocalEditors, clock: Clock, tell: Tell) -> None:
        self.windows = AttachedWindows(clock, tell)
        self.editors = AttachedEditors(local, self.windows, tell)

    def tools(self) -> Proxy:
        """The proxy of one chain that gives agents the tools."""
        return CodeIntelligence(self.windows, self.editors.files)
