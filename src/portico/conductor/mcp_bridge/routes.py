"""Routes from tokens to the bridged MCP servers of each session.

It comes through stand-ins that it starts, or over HTTP. Each server of each session is known by a token that only
the agent is given. Sockets are opened with the first server that needs one.
"""

import asyncio
import hashlib
import logging
import os
import sys
from collections.abc import Callable

from msgspec import Raw

from portico.conductor.mcp_bridge import stdio_shim
from portico.conductor.mcp_bridge.http_endpoint import McpHttpEndpoint
from portico.conductor.mcp_bridge.provider import McpAgentPeer, McpOutcome, McpProvider
from portico.conductor.mcp_bridge.provider_connection import ProviderConnection, open_provider_connection
from portico.conductor.mcp_bridge.server_list import McpServerEntry, http_entry, stdio_entry
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.mcp_bridge.shim_listener import ShimListener
from portico.conductor.mcp_bridge.stdio_server import McpStdioServer
from portico.conductor.node import ProxyNode
from portico.rpc.messages import Message
from portico.rpc.streams import ByteStream

log = logging.getLogger(__name__)


class _Route:
    """One server of one session, as the agent was told to reach it. Calling it begins a conversation."""

    def __init__(self, provider: McpProvider, entry: McpServerEntry, session: ChainSession) -> None:
        self.session = session
        self.links: set[asyncio.Task[None]] = set()
        self._provider = provider
        self._entry = entry

    async def __call__(self, agent: McpAgentPeer, method: str, params: Raw | None) -> ProviderConnection:
        return await open_provider_connection(self._provider, self._entry, agent, method, params)


class McpRoutes:
    def __init__(self, node: ProxyNode) -> None:
        self._node = node
        self._provider = McpProvider(node)
        self._listener: ShimListener | None = None
        self._endpoint: McpHttpEndpoint | None = None
        self._lines: dict[bytes, _Route] = {}

    def stdio_shim(self, entry: McpServerEntry, session: ChainSession) -> Raw:
        """A program that the agent can start, in place of a server that it cannot reach."""
        if self._listener is None:
            self._listener = ShimListener()
            self._node.spawn(self._listener.run(self._serve), "welcoming MCP stand-ins")
        command = [sys.executable, "-I", "-S", stdio_shim.__file__, self._listener.address]
        return stdio_entry(entry, command, {stdio_shim.TOKEN_VARIABLE: self._new_line(entry, session)})

    def address(self, entry: McpServerEntry, session: ChainSession) -> Raw:
        """A URL that the agent can open, in place of such a server."""
        if self._endpoint is None:
            self._endpoint = McpHttpEndpoint(self._line)
            self._node.spawn(self._endpoint.run(), "answering MCP over HTTP")
        token = self._new_line(entry, session)
        return http_entry(entry, self._endpoint.url, {"Authorization": f"Bearer {token}"})

    def forget(self, session: ChainSession) -> None:
        """End what goes on in a session, and let nobody in any more."""
        ended = [line for line in self._lines.values() if line.session is session]
        self._lines = {key: line for key, line in self._lines.items() if line.session is not session}
        for line in ended:
            for task in line.links:
                task.cancel()
            if self._endpoint is not None:
                self._node.spawn(self._endpoint.forget(line), "ending MCP over HTTP")

    def take(self, message: Message, reply: Callable[[McpOutcome], None]) -> bool:
        """Hand what a provider says to the agent's side that it is meant for; False if there is none."""
        return self._provider.take(message, reply)

    def _new_line(self, entry: McpServerEntry, session: ChainSession) -> str:
        """The token of a new line."""
        token = os.urandom(32).hex()
        self._lines[_digest(token)] = _Route(self._provider, entry, session)
        return token

    def _line(self, token: str) -> _Route | None:
        return self._lines.get(_digest(token))

    async def _serve(self, token: str, stream: ByteStream) -> None:
        line = self._line(token)
        if line is None:
            log.warning("an MCP stand-in came with a token that is not valid, or not any more")
            return
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a link to an MCP stand-in needs a task of its own")
        line.links.add(task)
        try:
            await McpStdioServer(stream, line).run()
        finally:
            line.links.discard(task)


def _digest(token: str) -> bytes:
    """Tokens are looked up by their digest, so that how long it takes says nothing about them."""
    return hashlib.sha256(token.encode()).digest()
