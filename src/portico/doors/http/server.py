"""HTTP server on the loopback address, from the bound socket to a graceful stop.

It knows nothing of what it serves. When it stops, it takes no new connections, sets `closing` so that
streams end by themselves, and cuts off after a grace time those whose readers do not read.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn

from portico.doors.http.admission import AdmissionControl
from portico.doors.http.asgi import ASGIApp
from portico.doors.http.http1_connection import IDLE_SECONDS, MAX_HEAD_BYTES, Http1Connection

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 5.0


def listen(port: int) -> socket.socket:
    """A socket that listens on the loopback address; zero takes any free port. OSError if it cannot."""
    # Only of a socket that is known as TCP does the event loop send each answer at once.
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
    """Serves an app on a socket until it is told to stop."""

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
        self._cut_off: asyncio.TimerHandle | None = None
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                http=partial(connection, room=room or AdmissionControl()),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                workers=1,
                timeout_keep_alive=IDLE_SECONDS,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            )
        )

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Serve, and return when every connection has ended. `on_ready` is called once calls are answered."""
        self._server.on_ready = on_ready
        try:
            await self._server.serve(sockets=[self._listener])
        finally:
            self._listener.close()
            if self._cut_off is not None:
                self._cut_off.cancel()

    def stop(self) -> None:
        """Stop gracefully; said again, at once."""
        grace = 0.0 if self._closing.is_set() else self._grace
        self._closing.set()
        self._server.should_exit = True
        if self._cut_off is not None:
            self._cut_off.cancel()
        self._cut_off = asyncio.get_running_loop().call_later(grace, self._cut_connections)

    def _cut_connections(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


class _Uvicorn(uvicorn.Server):
    """The library's server, without its own idea of signals, and with a word when it is ready."""

    on_ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        try:
            self.on_ready()
        except BaseException:
            # Before the listener is closed: nobody is let in any more.
            for server in self.servers:
                server.close()
            raise

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
