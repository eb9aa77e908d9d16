"""The MCP servers of a session: started with the first turn that can use them, and ended with the session.

One that fails is told of once and left out; the next turn tries it again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from portico.acp import _schema as schema
from portico.porter.mcp.asked import Asked
from portico.porter.mcp.channel import Channel, ServerFailed
from portico.porter.mcp.client import McpClient
from portico.porter.mcp.tool import McpTool
from portico.porter.tools.tool import Offered
from portico.porter.turn import Turn


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
        self._servers = tuple(servers)
        self._folders = tuple(folders)
        self._environ = environ
        self._can_ask = can_ask
        self._open: dict[str, McpClient] = {}
        self._told: set[str] = set()

    async def tools(self, turn: Turn) -> tuple[Offered, ...]:
        """The tools of all servers that answer. The person is told once of each that does not."""
        if not self._servers:
            return ()
        found = await asyncio.gather(*(self._tools_of(server, turn) for server in self._servers))
        by_name: dict[str, Offered] = {}
        for tool in (tool for tools in found for tool in tools):
            by_name.setdefault(tool.name, tool)
        return tuple(by_name.values())

    async def close(self) -> None:
        while self._open:
            await self._open.popitem()[1].close()

    async def _tools_of(self, server: schema.McpServer, turn: Turn) -> Sequence[Offered]:
        try:
            return await self._listed(server)
        except ServerFailed as error:
            await self._give_up(server.name)
            if server.name not in self._told:
                self._told.add(server.name)
                turn.notice(str(error), "Its tools are left out.", severity="warning")
            return ()

    async def _listed(self, server: schema.McpServer) -> Sequence[Offered]:
        """The tools of a server, which is started anew if it has ended meanwhile."""
        if (client := self._open.get(server.name)) is not None:
            try:
                return [McpTool(client, described) for described in await client.tools()]
            except ServerFailed:
                await self._give_up(server.name)
        client = await self._begin(server)
        return [McpTool(client, described) for described in await client.tools()]

    async def _begin(self, server: schema.McpServer) -> McpClient:
        asked = Asked(self._folders, can_ask=self._can_ask)
        client = McpClient(server.name, await self._channel(server, asked), asked)
        try:
            await client.begin()
        except BaseException:
            await client.close()
            raise
        self._open[server.name] = client
        return client

    async def _channel(self, server: schema.McpServer, asked: Asked) -> Channel:
        match server.type:
            case None | "stdio" if server.command:
                from portico.porter.mcp.pipes import open_pipes

                return await open_pipes(server, self._folders[0], self._environ, asked)
            case "http" if server.url:
                from portico.porter.mcp.http import HttpChannel

                headers = {header.name: header.value for header in server.headers or ()}
                return HttpChannel(server.name, server.url, headers, asked)
            case kind:
                raise ServerFailed(
                    f"The MCP server {server.name} is of the kind {kind!r}, which Porter does not speak."
                )

    async def _give_up(self, name: str) -> None:
        if (client := self._open.pop(name, None)) is not None:
            await client.close()
