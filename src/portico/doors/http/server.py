"""HTTP server on the loopback address, from the bound socket to a graceful stop.

When it stops, it accepts no new connections, sets `closing` so that streams end by themselves, and
after a grace period aborts the connections whose peers do not read.
"""

import asyncio
import socket
import sys
from collections.abc import Callable
from functools import partial

from portico.doors.http.admission import AdmissionControl
from portico.doors.http.asgi import ASGIApp
from portico.doors.http.http1_connection import Http1Connection
from portico.doors.http.open_connections import OpenConnections

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 5.0
_STREAM_SECONDS = 0.1
_BACKLOG = 2048


def listen(port: int) -> socket.socket:
    """A socket that listens on the loopback address; port zero takes any free one. Raises OSError."""
    # asyncio sets TCP_NODELAY only on sockets that are declared as TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


class HttpServer:
    """Serves an app on a socket until it is stopped."""

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        closing: asyncio.Event,
        *,
        grace: float = GRACE_SECONDS,
        connection: type[Http1Connection] = Http1Connection,
        room: AdmissionControl | None = None,
    ) -> None:
        self._listener = listener
        self._closing = closing
        self._grace = grace
        self._connections = OpenConnections()
        self._connect = partial(connection, app, self._connections, room or AdmissionControl())
        self._stopping = asyncio.Event()
        self._cut_off: asyncio.TimerHandle | None = None

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Serve, and return when every connection has ended. `on_ready` is called before the first is accepted."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            self._connect, sock=self._listener, backlog=_BACKLOG, start_serving=False
        )
        try:
            on_ready()
            await server.start_serving()
            await self._stopping.wait()
            server.close()
            # Some HTTP/2 clients take nothing after a GOAWAY, so streams get to end before it.
            await self._connections.wait_for_calls(_STREAM_SECONDS)
            self._connections.shutdown()
            await self._connections.wait_closed()
        finally:
            server.close()
            self._listener.close()
            self._connections.abort()
            if self._cut_off is not None:
                self._cut_off.cancel()

    def stop(self) -> None:
        """Stop gracefully; when called again, at once."""
        grace = 0.0 if self._closing.is_set() else self._grace
        self._closing.set()
        self._stopping.set()
        if self._cut_off is not None:
            self._cut_off.cancel()
        self._cut_off = asyncio.get_running_loop().call_later(grace, self._connections.abort)
