"""Endpoint `/ahp`: the handshake of a WebSocket, then a client of the agent host."""

import asyncio
from typing import TYPE_CHECKING

from portico.doors.ahp.host_parts import HostParts
from portico.doors.http.asgi import HttpRequest, HttpResponse, Receive, Scope
from portico.doors.http.refusals import RequestRefused
from portico.doors.http.websocket_upgrade import accept_websocket, wants_websocket

if TYPE_CHECKING:
    from portico.doors.ahp.host import AgentHost
    from portico.rpc.websocket import WebSocket

_MOST_CLIENTS = 64


class AgentHostDoor:
    def __init__(self, parts: HostParts, closing: asyncio.Event) -> None:
        self._parts = parts
        self._closing = closing
        self._host: AgentHost | None = None
        self._sockets: set[WebSocket] = set()

    async def open(self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse) -> None:
        """Serve one client until its socket ends. RequestRefused when it cannot be accepted."""
        if not wants_websocket(request):
            raise RequestRefused(
                426,
                "invalid_argument",
                "The agent host is reached by WebSocket.",
                [(b"upgrade", b"websocket")],
            )
        if self._closing.is_set():
            raise RequestRefused(503, "unavailable", "The server is stopping.")
        if len(self._sockets) >= _MOST_CLIENTS:
            raise RequestRefused(503, "unavailable", "Too many clients are connected.")
        # Only a server that has a client pays for the protocol's types.
        from portico.doors.ahp.client import HostClient
        from portico.doors.ahp.host import AgentHost

        socket = accept_websocket(request, scope, [])
        self._host = self._host or AgentHost(self._parts)
        self._sockets.add(socket)
        closing = asyncio.create_task(self._close_at_end(socket), name="end of an agent host client")
        try:
            await HostClient(self._host, socket).run()
        finally:
            closing.cancel()
            self._sockets.discard(socket)
            socket.close()

    async def close(self) -> None:
        if self._host is not None:
            await self._host.close()

    async def _close_at_end(self, socket: "WebSocket") -> None:
        await self._closing.wait()
        socket.close()
