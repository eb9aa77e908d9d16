"""Calls from the bridge to the proxy or client that provides an MCP server over ACP.

It speaks every dialect of MCP over ACP. An outer error, which says that the server could not be reached, is raised;
an error of MCP itself is an outcome.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Raw, UnsetType

from portico.conductor.mcp_bridge import mcp_over_acp
from portico.conductor.mcp_bridge.mcp_over_acp import McpEnvelope, read_envelope
from portico.conductor.node import ProxyNode
from portico.mcp.protocol import BACKEND_FAILED
from portico.mcp.server_connection import McpOutcome, McpServerConnection, OnNotification
from portico.rpc.messages import CANCEL_REQUEST, Message, RpcError, notification, outcome, request


class McpProvider:
    def __init__(self, node: ProxyNode) -> None:
        self._node = node
        self._calls: dict[tuple[str, str], OnNotification] = {}
        self._connections: dict[str, McpServerConnection] = {}

    async def call(self, server_id: str, method: str, params: Any, notified: OnNotification) -> McpOutcome:
        """Call a method without a connection."""
        request_id = self._node.next_id()
        self._calls[server_id, request_id] = notified
        try:
            envelope = mcp_over_acp.call(server_id, request_id, method, params)
            return mcp_over_acp.read_outcome(await self._ask(mcp_over_acp.MESSAGE, envelope))
        finally:
            del self._calls[server_id, request_id]

    async def connect(self, server_id: str, spelling: str, agent: McpServerConnection) -> str:
        wanted = True

        def connected(answer: Message) -> None:
            # At once, so that the next message of the provider is routed.
            connection_id = _connection_id(answer.result) if isinstance(answer.result, Raw) else None
            if connection_id is None:
                return
            self._connections[connection_id] = agent
            if not wanted:
                self.disconnect(connection_id, spelling)

        params = mcp_over_acp.connect_params(server_id, spelling)
        try:
            answer = await self._ask(mcp_over_acp.peer_method(spelling, "connect"), params, connected)
        except asyncio.CancelledError:
            wanted = False
            raise
        connection_id = _connection_id(answer)
        if connection_id is None:
            raise RpcError(BACKEND_FAILED, "the response to mcp/connect names no connection")
        return connection_id

    async def connected_call(self, connection_id: str, spelling: str, method: str, params: Any) -> Raw:
        envelope = mcp_over_acp.connected_call(connection_id, spelling, method, params)
        return await self._ask(mcp_over_acp.peer_method(spelling, "message"), envelope)

    def connected_notify(self, connection_id: str, spelling: str, method: str, params: Any) -> None:
        envelope = mcp_over_acp.connected_call(connection_id, spelling, method, params)
        self._node.send_left(notification(mcp_over_acp.peer_method(spelling, "message"), envelope))

    def disconnect(self, connection_id: str, spelling: str) -> None:
        """Close a connection, ignoring the response."""
        self._connections.pop(connection_id, None)
        params = mcp_over_acp.connection_names(connection_id, spelling)
        method = mcp_over_acp.peer_method(spelling, "disconnect")
        if spelling.startswith("_"):
            self._node.send_left(notification(method, params))
            return
        request_id = self._node.next_id()
        self._node.await_left(request_id, lambda _: None)
        self._node.send_left(request(request_id, method, params))

    def take(self, message: Message, reply: Callable[[McpOutcome], None]) -> bool:
        """Pass a message of a provider to the agent it is for; False if it is for none here."""
        try:
            envelope = read_envelope(message)
        except RpcError:
            return False
        if envelope.connection_id is not None:
            return self._take_connected(message, envelope, reply)
        notified = self._calls.get((envelope.server_id or "", envelope.request_id or ""))
        if notified is None or message.is_request:
            return False
        notified(envelope.method, envelope.params)
        return True

    def _take_connected(
        self, message: Message, envelope: McpEnvelope, reply: Callable[[McpOutcome], None]
    ) -> bool:
        agent = self._connections.get(envelope.connection_id or "")
        if agent is None:
            return False
        if isinstance(message.id, UnsetType):
            agent.notify(envelope.method, envelope.params)
        else:
            agent.ask(envelope.method, envelope.params, reply)
        return True

    async def _ask(self, method: str, params: Any, seen: Callable[[Message], None] | None = None) -> Raw:
        """Call to the left. Cancelling this cancels the request there."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        request_id = self._node.next_id()

        def arrived(message: Message) -> None:
            if seen is not None:
                seen(message)
            if not answer.done():
                answer.set_result(message)

        self._node.await_left(request_id, arrived)
        self._node.send_left(request(request_id, method, params))
        try:
            return outcome(await answer)
        except asyncio.CancelledError:
            self._node.send_left(notification(CANCEL_REQUEST, {"requestId": request_id}))
            raise


def _connection_id(result: Raw) -> str | None:
    try:
        return read_envelope(notification("mcp/connect", result)).connection_id
    except RpcError:
        return None
