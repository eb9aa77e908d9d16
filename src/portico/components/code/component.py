"""The component `code`: code intelligence for any agent."""

from collections.abc import Sequence

from portico.components.code.proxy import CodeIntelligence
from portico.components.code.tree_files import FileSources
from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.conductor.proxy import Proxy
from portico.sessions.code_servers import CodeServers
from portico.sessions.windows import Windows


class CodeComponent(Component):
    """Offers the language features of attached windows and of language servers as tools, and the window's terminal."""

    name = "code"
    summary = "definitions, references, problems and renames, from the attached editor or language servers"

    def __init__(self, files: FileSources, servers: CodeServers, windows: Windows | None = None) -> None:
        self._files = files
        self._servers = servers
        self._windows = windows

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        servers = self._servers if self._servers.has_any(context.workspace) else None
        if servers is None and self._windows is None:
            raise ComponentUnavailable(
                "No language server is installed. See which can be: portico code servers list"
            )
        return [CodeIntelligence(self._windows, self._files, servers)]

    async def close(self) -> None:
        await self._servers.close()
