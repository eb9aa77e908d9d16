"""The component `code`: code intelligence for any agent."""

from collections.abc import Callable, Sequence
from pathlib import Path

from portico.components.code.proxy import CodeIntelligence
from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.conductor.proxy import Proxy
from portico.domain.ids import SessionId
from portico.sessions.ports import EditorFiles
from portico.sessions.windows import Windows


class CodeComponent(Component):
    """Offers the language features and the terminal of an attached window as tools."""

    name = "code"
    summary = "definitions, references, symbols and problems from the attached editor"

    def __init__(
        self, windows: Windows | None = None, files_of: Callable[[SessionId, Path], EditorFiles] | None = None
    ) -> None:
        self._windows = windows
        self._files_of = files_of

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        if self._windows is None or self._files_of is None:
            raise ComponentUnavailable("Only sessions of the server have attached editor windows.")
        return [CodeIntelligence(self._windows, self._files_of)]
