"""What is at `/acp`: the handshake of WebSocket, or a call of the HTTP transport."""

import asyncio

from portico.doors.http.asgi import HttpRequest, HttpResponse, Receive, Scope
from portico.doors.http.refusals import wrong_method
from portico.doors.http.websocket_upgrade import wants_websocket
from portico.doors.remote_acp.connection import RunChain
from portico.doors.remote_acp.websocket import KEEP_SECONDS, WebSocketDoor


class RemoteAcpDoor:
    def __init__(self, run_chain: RunChain, closing: asyncio.Event, keep: float = KEEP_SECONDS) -> None:
        self._sockets = WebSocketDoor(run_chain, closing, keep)

    async def open(self, request: HttpRequest, scope: Scope, receive: Receive, answer: HttpResponse) -> None:
        if not wants_websocket(request):
            raise wrong_method("GET")
        await self._sockets.serve(request, scope)

    async def close(self) -> None:
        await self._sockets.close()
