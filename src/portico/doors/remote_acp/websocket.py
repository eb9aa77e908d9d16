"""ACP over WebSocket: one text frame for each message, and a chain that survives a lost socket.

A client that sends `Portico-Received` with its handshake counts what it receives. When its socket is lost it connects
again with the id of the connection and that count, and both sides send what the other has not received. A client
without the header gets what the protocol says: its chain ends with its socket.
"""

import asyncio

from portico.doors.http.asgi import HttpRequest, Scope
from portico.doors.http.refusals import RequestRefused
from portico.doors.http.websocket_upgrade import accept_websocket
from portico.doors.remote_acp.connection import ChainConnection, RunChain
from portico.rpc.replay_buffer import ReplayGone
from portico.rpc.resumable_link import ResumableLink
from portico.rpc.websocket import NORMAL, REPLACED, WebSocket

CONNECTION_HEADER = "acp-connection-id"
RECEIVED_HEADER = "portico-received"
_MOST_CONNECTIONS = 64


class _SocketConnection:
    """A chain and the socket it has at the moment."""

    def __init__(self, run_chain: RunChain) -> None:
        self.chain = ChainConnection(run_chain, self._emit)
        self.link = ResumableLink(self.chain.deliver)
        self.socket: WebSocket | None = None
        self.free = asyncio.Event()
        """Set while no socket is in use."""
        self.free.set()
        self.expiry: asyncio.TimerHandle | None = None

    async def take_socket_away(self) -> None:
        """End the socket in use, if there is one; what it had received is counted then."""
        if self.expiry is not None:
            self.expiry.cancel()
        if self.socket is not None:
            self.socket.close(REPLACED)
        await self.free.wait()

    async def _emit(self, text: str) -> None:
        await self.link.send(text)


class WebSocketDoor:
    """All chains of clients over WebSocket. Lost ones are kept for `keep` seconds."""

    def __init__(self, run_chain: RunChain, closing: asyncio.Event, keep: float) -> None:
        self._run_chain = run_chain
        self._closing = closing
        self._keep = keep
        self._open: dict[str, _SocketConnection] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def serve(self, request: HttpRequest, scope: Scope) -> None:
        """Serve one socket until it ends. RequestRefused when it cannot be accepted."""
        counted = _counted(request)
        connection = await self._find(request, counted)
        headers = [(CONNECTION_HEADER.encode(), connection.chain.id.encode())]
        if counted is not None:
            headers.append((RECEIVED_HEADER.encode(), str(connection.link.received).encode()))
        try:
            socket = accept_websocket(request, scope, headers)
        except RequestRefused:
            if request.header(CONNECTION_HEADER) is None:
                self._forget(connection)
            raise
        connection.socket = socket
        connection.free.clear()
        watching = asyncio.create_task(self._close_at_end(connection, socket), name="end of a socket")
        try:
            await connection.link.run(socket, counted or 0, acknowledges=counted is not None)
        finally:
            watching.cancel()
            socket.close()
            connection.socket = None
            connection.free.set()
            ends = connection.chain.ended.is_set() or self._closing.is_set()
            if ends or counted is None or socket.close_code == NORMAL:
                self._forget(connection)
            else:
                loop = asyncio.get_running_loop()
                connection.expiry = loop.call_later(self._keep, self._forget, connection)

    async def close(self) -> None:
        """End all chains."""
        for connection in list(self._open.values()):
            self._forget(connection)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _find(self, request: HttpRequest, counted: int | None) -> _SocketConnection:
        """The connection that a client resumes, free to be used, or a new one."""
        if self._closing.is_set():
            raise RequestRefused(503, "unavailable", "The server is stopping.")
        known = request.header(CONNECTION_HEADER)
        if known is None:
            if len(self._open) >= _MOST_CONNECTIONS:
                self._make_room()
            connection = _SocketConnection(self._run_chain)
            self._open[connection.chain.id] = connection
            connection.chain.start()
            return connection
        found = self._open.get(known)
        if found is None or counted is None:
            raise RequestRefused(404, "not_found", "There is no such connection; it has ended or expired.")
        await found.take_socket_away()
        try:
            found.link.sent.acknowledge(counted)
        except ReplayGone as error:
            raise RequestRefused(409, "invalid_argument", str(error)) from error
        return found

    def _make_room(self) -> None:
        """End the oldest chain that has lost its socket. RequestRefused if all are in use."""
        lost = [connection for connection in self._open.values() if connection.socket is None]
        if not lost:
            raise RequestRefused(503, "unavailable", "Too many remote chains are open.")
        self._forget(lost[0])

    def _forget(self, connection: _SocketConnection) -> None:
        """End a chain that no socket uses any more."""
        if self._open.pop(connection.chain.id, None) is None:
            return
        if connection.expiry is not None:
            connection.expiry.cancel()
        task = asyncio.create_task(connection.chain.end(), name="end of a remote chain")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _close_at_end(self, connection: _SocketConnection, socket: WebSocket) -> None:
        """Close a socket when its chain has ended and all is written, or when the server stops."""
        events = [
            asyncio.create_task(event.wait(), name="end of a chain")
            for event in (connection.chain.ended, self._closing)
        ]
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            if not self._closing.is_set():
                await connection.link.flush()
            socket.close()
        finally:
            for event in events:
                event.cancel()


def _counted(request: HttpRequest) -> int | None:
    """Number of messages that the client has received, if it counts them."""
    value = request.header(RECEIVED_HEADER)
    if value is None:
        return None
    if not value.isdecimal():
        raise RequestRefused(400, "invalid_argument", f"{RECEIVED_HEADER} must be a number.")
    return int(value)
