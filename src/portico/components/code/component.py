"""The component `code`: code intelligence for any agent."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.conductor.proxy import Proxy
from portico.project.reported_problems import ReportedProblems
from portico.sessions.code_servers import CodeServers
from portico.sessions.windows import Windows

if TYPE_CHECKING:
    from portico.components.code.tree_files import FileSources


class ServerSource(msgspec.Struct, frozen=True):
    """Language servers of this machine: whether a folder has any, and how to get at them."""

    available: Callable[[Path, Mapping[str, str]], bool]
    make: Callable[[], CodeServers]


class CodeComponent(Component):
    """Offers the language features of attached windows and of language servers as tools, and the window's terminal."""

    name = "code"
    summary = "definitions, references, problems and renames, from the attached editor or language servers"

    def __init__(
        self,
        files: Callable[[], "FileSources"],
        servers: ServerSource,
        windows: Windows | None = None,
        reported: ReportedProblems | None = None,
    ) -> None:
        self._files = files
        self._source = servers
        self._servers: CodeServers | None = None
        self._windows = windows
        self._reported = reported or ReportedProblems()

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        available = self._source.available(context.workspace, context.environ)
        if not available and self._windows is None:
            raise ComponentUnavailable(
                "No language server is installed. See which can be: portico code servers list"
            )
        # Late: an editor waits for the answer to `initialize`, and most folders need none of this.
        from portico.components.code.proxy import CodeIntelligence

        servers = self.servers(context.workspace, context.environ) if available else None
        return [CodeIntelligence(self._windows, self._files(), servers, self._reported)]

    def servers(self, workspace: Path, environ: Mapping[str, str]) -> CodeServers | None:
        """The language servers of all chains, if the folder has any. They start when they are first asked."""
        if not self._source.available(workspace, environ):
            return None
        if self._servers is None:
            self._servers = self._source.make()
        return self._servers

    async def close(self) -> None:
        if self._servers is not None:
            await self._servers.close()
