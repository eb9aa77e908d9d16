"""Endpoint `/acp`: the handshake of a WebSocket, or a call of the HTTP transport."""

import asyncio
from typing import TYPE_CHECKING

from portico.doors.http.asgi import HttpRequest, HttpResponse, Receive, Scope
from portico.doors.http.websocket_upgrade import wants_websocket
from portico.doors.remote_acp.connection import RunChain
from portico.doors.remote_acp.streamable_http import StreamableHttpDoor

if TYPE_CHECKING:
    from portico.doors.remote_acp.websocket import WebSocketDoor

KEEP_SECONDS = 300.0
"""Time for which a chain waits for a lost client."""


class RemoteAcpDoor:
    def __init__(self, run_chain: RunChain, closing: asyncio.Event, keep: float = KEEP_SECONDS) -> None:
        self._run_chain = run_chain
        self._closing = closing
        self._keep = keep
        self._calls = StreamableHttpDoor(run_chain, closing, keep)
        self._opened_sockets: WebSocketDoor | None = None

    async def open(self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse) -> None:
        if wants_websocket(request):
            await self._sockets().serve(request, scope)
        else:
            await self._calls.serve(request, receive, answer)

    async def close(self) -> None:
        await self._calls.close()
        if self._opened_sockets is not None:
            await self._opened_sockets.close()

    def _sockets(self) -> "WebSocketDoor":
        """The door for sockets; only a server that has one pays for the library."""
        if self._opened_sockets is None:
            from portico.doors.remote_acp.websocket import WebSocketDoor

            self._opened_sockets = WebSocketDoor(self._run_chain, self._closing, self._keep)
        return self._opened_sockets
