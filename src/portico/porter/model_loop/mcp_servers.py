"""The MCP servers of a session, started with the first turn that can use them and ended with the session.

One that fails is told of once and left out; the next turn tries it again. One that is silent has been waited
for once: from then on it is tried while turns go on without it, until it answers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as schema
from portico.acp.extensions import ServerMeta, from_meta
from portico.mcp.client import MOST_TOOLS, McpClient
from portico.mcp.client_transport import McpServerFailed, McpServerTimedOut, McpTransport
from portico.mcp.messages import ToolDeclaration
from portico.mcp.server_names import unique_name
from portico.porter.mcp_program import PORTER, open_program
from portico.porter.mcp_requests import ServerRequests
from portico.porter.tools.mcp_tool import McpTool
from portico.porter.tools.tool import ModelTool
from portico.porter.turn import PorterTurn
from portico.processes.tasks import silence_failure

_MOST_DESCRIPTION = 512 * 1024
"""Bytes of what the tools of one server take: more than that leaves a model no room to work."""
_LEFT_OUT = "Its tools are left out."
_SILENT = (
    "The conversation continues without its tools and does not wait for it again; they are added once it answers. "
    "See whether it starts when you run it yourself, or switch it off: `disabled` under `mcpServers` in the settings."
)


class McpServers:
    """They run in the first of `folders` and are told of all; `can_ask` says whether the person can be asked."""

    def __init__(
        self,
        servers: Sequence[schema.McpServer],
        folders: Sequence[Path],
        environ: Mapping[str, str],
        *,
        can_ask: bool,
    ) -> None:
        self._servers = _with_unique_names(servers)
        self._folders = tuple(folders)
        self._environ = environ
        self._can_ask = can_ask
        self._open: dict[str, tuple[McpClient, ServerRequests]] = {}
        self._looking: dict[str, asyncio.Task[Sequence[McpTool]]] = {}
        self._silent: set[str] = set()
        self._reported: set[str] = set()

    async def tools(self, turn: PorterTurn) -> tuple[ModelTool, ...]:
        """The tools of all servers that answer. The person is told once of each that does not."""
        if not self._servers:
            return ()
        found = await asyncio.gather(*(self._tools_of(server, turn) for server in self._servers))
        by_name: dict[str, ModelTool] = {}
        for tool in (tool for tools in found for tool in tools):
            tool.rename(by_name)
            by_name[tool.name] = tool
        return tuple(by_name.values())

    async def close(self) -> None:
        for looking in self._looking.values():
            looking.cancel()
        await asyncio.gather(*self._looking.values(), return_exceptions=True)
        while self._open:
            await self._open.popitem()[1][0].close()

    async def _tools_of(self, server: schema.McpServer, turn: PorterTurn) -> Sequence[McpTool]:
        """The tools of a server. Waits for them, unless the server is known not to answer."""
        looking = self._looking.get(server.name) or self._look(server)
        if server.name in self._silent and not looking.done():
            return ()
        # A person who stops a turn because it waits should not have to wait as long in the next.
        await asyncio.wait({looking})
        del self._looking[server.name]
        try:
            listed = looking.result()
        except McpServerFailed as error:
            if server.name in self._silent:
                self._look(server)
            elif isinstance(error, McpServerTimedOut):
                self._silent.add(server.name)
            more = _SILENT if server.name in self._silent else _LEFT_OUT
            self._tell(turn, server.name, str(error), more)
            return ()
        self._silent.discard(server.name)
        kept = _bounded(listed)
        if len(kept) < len(listed):
            words = f"The MCP server {server.name} offers more than fits into the context of a model."
            left_out = f"{len(listed) - len(kept)} of its tools are left out; have it offer fewer."
            self._tell(turn, f"{server.name} has too much", words, left_out)
        return kept

    def _tell(self, turn: PorterTurn, what: str, title: str, more: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            turn.notice(title, more, severity="warning")

    def _look(self, server: schema.McpServer) -> "asyncio.Task[Sequence[McpTool]]":
        name = f"tools of the MCP server {server.name}"
        looking = asyncio.create_task(
            self._listed(server, long_timeout=server.name in self._silent), name=name
        )
        self._looking[server.name] = silence_failure(looking)
        return looking

    async def _listed(self, server: schema.McpServer, *, long_timeout: bool) -> Sequence[McpTool]:
        """The tools of a server, which is restarted if it has ended meanwhile."""
        if (known := self._open.get(server.name)) is not None:
            client, requests = known
            try:
                return _tools(server, client, requests, await client.tools())
            except McpServerTimedOut:
                await self._give_up(server.name)
                raise
            except McpServerFailed:
                await self._give_up(server.name)
        requests = ServerRequests(self._folders, can_ask=self._can_ask)
        transport = await self._transport(server, requests)
        client = McpClient(server.name, transport, requests, PORTER)
        try:
            await client.begin(long_timeout=long_timeout)
            listed = await client.tools(long_timeout=long_timeout)
        except BaseException:
            await client.close()
            raise
        self._open[server.name] = client, requests
        return _tools(server, client, requests, listed)

    async def _transport(self, server: schema.McpServer, requests: ServerRequests) -> McpTransport:
        match server.type:
            case None | "stdio" if server.command:
                return await open_program(server, self._folders[0], self._environ, requests)
            case "http" if server.url:
                from portico.mcp.http_transport import McpHttpTransport

                headers = {header.name: header.value for header in server.headers or ()}
                return McpHttpTransport(server.name, server.url, headers, requests)
            case kind:
                raise McpServerFailed(
                    f"The MCP server {server.name} is of the kind {kind!r}, which Porter does not support."
                )

    async def _give_up(self, name: str) -> None:
        if (known := self._open.pop(name, None)) is not None:
            await known[0].close()


def _with_unique_names(servers: Sequence[schema.McpServer]) -> tuple[schema.McpServer, ...]:
    """The servers, with a number added to names that occur twice."""
    by_name: dict[str, schema.McpServer] = {}
    for server in servers:
        name = unique_name(server.name, by_name)
        by_name[name] = msgspec.structs.replace(server, name=name)
    return tuple(by_name.values())


def _tools(
    server: schema.McpServer, client: McpClient, requests: ServerRequests, listed: Sequence[ToolDeclaration]
) -> list[McpTool]:
    trusted = from_meta(server.meta, ServerMeta).trusted
    return [McpTool(client, described, requests, trusted=trusted) for described in listed]


def _bounded(tools: Sequence[McpTool]) -> list[McpTool]:
    """The tools, cut to as many as fit into a model's context."""
    kept: list[McpTool] = []
    room = _MOST_DESCRIPTION
    for tool in tools:
        size = len(tool.spec().schema)
        if len(kept) < MOST_TOOLS and size <= room:
            kept.append(tool)
            room -= size
    return kept
