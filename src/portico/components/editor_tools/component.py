"""The component `editor-tools`: tools that an attached editor window offers."""

from collections.abc import Sequence

from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.editor_tools.proxy import EditorTools
from portico.conductor.proxy import Proxy
from portico.sessions.windows import Windows


class EditorToolsComponent(Component):
    """Offers the tools of VS Code and its extensions to agents. Each call needs permission."""

    name = "editor-tools"
    summary = "tools of VS Code and its extensions, from the attached window"

    def __init__(self, windows: Windows | None = None) -> None:
        self._windows = windows

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        if self._windows is None:
            raise ComponentUnavailable("Only sessions of the server have attached editor windows.")
        return [EditorTools(self._windows)]
