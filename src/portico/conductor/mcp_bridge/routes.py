"""Routes from tokens to the bridged MCP servers of each session.

The agent reaches them through shims that it starts, or over HTTP. Each server of each session has a token that only
the agent is given. Sockets are opened with the first server that needs one.
"""

import asyncio
import hashlib
import logging
import os
import sys
from collections.abc import Callable

from msgspec import Raw

from portico.conductor.mcp_bridge.provider import McpProvider
from portico.conductor.mcp_bridge.provider_connection import open_provider_connection
from portico.conductor.mcp_bridge.server_list import McpServerEntry, http_entry, stdio_entry
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.mcp_bridge.shim_listener import ShimListener
from portico.conductor.node import ProxyNode
from portico.mcp.http_endpoint import McpHttpEndpoint
from portico.mcp.server_connection import McpOutcome, McpServerConnection, ServerBackend
from portico.mcp.stdio_server import McpStdioServer
from portico.processes import stdio_shim
from portico.rpc.messages import Message
from portico.rpc.streams import ByteStream

log = logging.getLogger(__name__)


class _Route:
    """One bridged server of one session. Calling it opens the backend of a connection."""

    def __init__(self, provider: McpProvider, entry: McpServerEntry, session: ChainSession) -> None:
        self.session = session
        self.connections: set[asyncio.Task[None]] = set()
        self._provider = provider
        self._entry = entry

    async def __call__(self, agent: McpServerConnection, method: str, params: Raw | None) -> ServerBackend:
        return await open_provider_connection(self._provider, self._entry, agent, method, params)


class McpRoutes:
    def __init__(self, node: ProxyNode) -> None:
        self._node = node
        self._provider = McpProvider(node)
        self._listener: ShimListener | None = None
        self._endpoint: McpHttpEndpoint | None = None
        self._routes: dict[bytes, _Route] = {}

    def stdio_shim(self, entry: McpServerEntry, session: ChainSession) -> Raw:
        """A list entry with a program that the agent can start, in place of a server that it cannot reach."""
        if self._listener is None:
            self._listener = ShimListener()
            self._node.spawn(self._listener.run(self._serve), "serving MCP shims")
        command = [sys.executable, "-I", "-S", stdio_shim.__file__, self._listener.address]
        return stdio_entry(entry, command, {stdio_shim.TOKEN_VARIABLE: self._add_route(entry, session)})

    def address(self, entry: McpServerEntry, session: ChainSession) -> Raw:
        """A list entry with a URL that the agent can open, in place of such a server."""
        if self._endpoint is None:
            self._endpoint = McpHttpEndpoint(self._route)
            self._node.spawn(self._endpoint.run(), "answering MCP over HTTP")
        token = self._add_route(entry, session)
        return http_entry(entry, self._endpoint.url, {"Authorization": f"Bearer {token}"})

    def forget(self, session: ChainSession) -> None:
        """End the connections of a session and invalidate its tokens."""
        ended = [route for route in self._routes.values() if route.session is session]
        self._routes = {key: route for key, route in self._routes.items() if route.session is not session}
        for route in ended:
            for task in route.connections:
                task.cancel()
            if self._endpoint is not None:
                self._node.spawn(self._endpoint.forget(route), "ending MCP over HTTP")

    def take(self, message: Message, reply: Callable[[McpOutcome], None]) -> bool:
        """Pass a message of a provider to the connection it is for; False if there is none."""
        return self._provider.take(message, reply)

    def _add_route(self, entry: McpServerEntry, session: ChainSession) -> str:
        """The token of a new route."""
        token = os.urandom(32).hex()
        self._routes[_digest(token)] = _Route(self._provider, entry, session)
        return token

    def _route(self, token: str) -> _Route | None:
        return self._routes.get(_digest(token))

    async def _serve(self, token: str, stream: ByteStream) -> None:
        route = self._route(token)
        if route is None:
            log.warning("an MCP shim sent an invalid token")
            return
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("the connection of an MCP shim needs a task of its own")
        route.connections.add(task)
        try:
            await McpStdioServer(stream, route).run()
        finally:
            route.connections.discard(task)


def _digest(token: str) -> bytes:
    """Tokens are looked up by their digest, so that the time it takes reveals nothing about them."""
    return hashlib.sha256(token.encode()).digest()
