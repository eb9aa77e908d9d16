"""The component `editor`: supplies what an editor lacks."""

from collections.abc import Callable, Sequence

from portico.components.component import AdapterContext, Component, ComponentContext
from portico.conductor.proxy import Proxy
from portico.sessions.ports import EditorProvider


class EditorComponent(Component):
    """Serves files and terminals of this machine in place of an editor that does not. It gives the agent no tools."""

    name = "editor"
    summary = "files and terminals of this machine, for editors that offer none"

    def __init__(self, open_provider: Callable[[], EditorProvider]) -> None:
        self._open_provider = open_provider

    def adapt(self, context: AdapterContext) -> Sequence[Proxy]:
        # Late: most editors lack nothing.
        from portico.components.editor.adapter import EditorAdapter, missing_methods

        missing = missing_methods(context.editor)
        return [EditorAdapter(missing, self._open_provider())] if missing else []

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return []
