"""HTTP/1.1 connection with deadlines and limits; hands over to HTTP/2 when the peer asks for it.

The protocol is the library's, `h11`. A head has to arrive within seconds, and of the body of a refused
request only as much is read as a client needs to notice its response. A peer that begins with the
preface of HTTP/2 is handed over to `http2_connection`.
"""

import asyncio
import logging
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

import h11

from portico.doors.http.admission import STRANGER_SECONDS, AdmissionControl, offer_recognition
from portico.doors.http.asgi import ASGIApp, make_scope
from portico.doors.http.headers import Header
from portico.doors.http.http1_call import Http1Call
from portico.doors.http.http2_frame_budget import PREFACE
from portico.doors.http.open_connections import OpenConnections, addresses
from portico.doors.http.websocket_upgrade import offer_upgrade

if TYPE_CHECKING:
    from portico.rpc.websocket import WebSocket

log = logging.getLogger("portico.web")

MAX_HEAD_BYTES = 32 * 1024
_LARGEST_PIECE = 64 * 1024


class BufferedTransport(asyncio.Transport):
    """Wraps a transport: what is written in one turn of the event loop goes out as one piece."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._held = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held += data
        if len(self._held) >= _LARGEST_PIECE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def abort(self) -> None:
        self._held.clear()
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def is_reading(self) -> bool:
        return self._inner.is_reading()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)

    def _flush(self) -> None:
        if self._held and not self._inner.is_closing():
            self._inner.write(bytes(self._held))
        self._held.clear()


class Http1Connection(asyncio.Protocol):
    head_seconds: ClassVar[float] = 10.0
    stranger_seconds: ClassVar[float] = STRANGER_SECONDS
    idle_seconds: ClassVar[float] = 30.0
    unwanted_bytes: ClassVar[int] = 1024 * 1024

    transport: asyncio.Transport

    def __init__(self, app: ASGIApp, connections: OpenConnections, room: AdmissionControl) -> None:
        self._app = app
        self._connections = connections
        self._room = room
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
        self._call: Http1Call | None = None
        self._socket: WebSocket | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unwanted = 0
        self._is_last_call = False
        self._first_bytes: bytes | None = b""
        """Bytes received while the version is undecided; None once it is HTTP/1.1."""

    @property
    def calls(self) -> int:
        return int(self._call is not None and not self._call.is_answered)

    def drop(self) -> None:
        self.transport.abort()

    def shutdown(self) -> None:
        """Close, after the response if one is due."""
        self._is_last_call = True
        if not self.calls:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = BufferedTransport(transport, self._loop)
        self._room.enter(self)
        self._set_timer("stranger", self.stranger_seconds)
        self._set_timer("head", self.head_seconds)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._socket is not None:
            self._socket.feed(data)
            return
        if self._first_bytes is not None:
            self._first_bytes = data = self._first_bytes + data
            if data.startswith(PREFACE):
                self._hand_over(data)
                return
            if PREFACE.startswith(data):
                return
            self._first_bytes = None
        self._clear_timer("idle")
        self._http.receive_data(data)
        self._handle_events()
        if self._http.their_state is h11.SEND_BODY and not self.calls:
            # The response is out while the body still comes in.
            self._unwanted += len(data)
            self._set_timer("head", self.head_seconds)
            if self._unwanted > self.unwanted_bytes:
                self.transport.close()
        elif self._http.their_state is h11.IDLE:
            self._set_timer("head", self.head_seconds)
        else:
            self._clear_timer("head")

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        for name in list(self._timers):
            self._clear_timer(name)
        if self._call is not None:
            self._call.leave()
        if self._socket is not None:
            self._socket.lose()
        self._writable.set()
        self._connections.discard(self)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def drain(self) -> None:
        """Wait until the peer has read most of what was sent."""
        await self._writable.wait()

    def resume_body(self) -> None:
        """The app wants to read the body."""
        if self._http.they_are_waiting_for_100_continue and not self.transport.is_closing():
            self._send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        self.transport.resume_reading()

    def send_head(self, status: int, headers: Iterable[Header]) -> None:
        dated = [(b"date", formatdate(usegmt=True).encode()), *headers]
        reason = HTTPStatus(status).phrase.encode()
        self._send(h11.Response(status_code=status, headers=dated, reason=reason))

    def send_data(self, data: bytes) -> None:
        self._send(h11.Data(data=data))

    def end_response(self) -> None:
        self._send(h11.EndOfMessage())
        if self._is_last_call or self._http.our_state is h11.MUST_CLOSE:
            self.transport.close()
        if self.transport.is_closing():
            return
        self._set_timer("idle", self.idle_seconds)
        self.transport.resume_reading()
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._handle_events()

    def _handle_events(self) -> None:
        while not self.transport.is_closing():
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                self._refuse_bytes()
                return
            if isinstance(event, h11.Request):
                self._start_call(event)
            elif isinstance(event, h11.Data):
                self._feed(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._feed_end()
            else:
                if event is h11.PAUSED:  # a pipelined request waits for the response to this one
                    self.transport.pause_reading()
                return

    def _start_call(self, request: h11.Request) -> None:
        self._clear_timer("idle")
        version = request.http_version.decode("ascii")
        scope = make_scope(version, request.method, request.target, list(request.headers))
        scope["client"], scope["server"] = addresses(self.transport)
        offer_recognition(scope, self._recognise)
        offer_upgrade(scope, self._become_socket)
        self._call = Http1Call(self, scope)
        self._connections.start_call(self._call.run(self._app), name="HTTP/1.1 call")

    def _become_socket(self, headers: Iterable[Header]) -> "WebSocket":
        """Answer the handshake; from now on the connection is a WebSocket."""
        from wsproto.connection import ConnectionType

        from portico.rpc.websocket import WebSocket

        self._send(
            h11.InformationalResponse(status_code=101, headers=[*headers], reason=b"Switching Protocols")
        )
        self._socket = WebSocket(
            ConnectionType.SERVER, self.transport.write, self.drain, self.transport.close, self._hold
        )
        for name in list(self._timers):
            self._clear_timer(name)
        early, _ = self._http.trailing_data
        self.transport.resume_reading()
        if early:
            self._socket.feed(bytes(early))
        return self._socket

    def _hold(self, held: bool) -> None:
        if held:
            self.transport.pause_reading()
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    def _feed(self, data: bytes) -> None:
        if self._call is not None and self.calls:
            self._call.feed(data)
            if self._call.is_full:
                self.transport.pause_reading()

    def _feed_end(self) -> None:
        if self._call is not None and self.calls:
            self._call.feed_end()
        elif self._http.our_state is h11.DONE:
            self.transport.resume_reading()
            self._http.start_next_cycle()

    def _refuse_bytes(self) -> None:
        log.warning("refused a request that is not HTTP")
        if self._call is not None:
            self._call.leave()
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.send_head(400, [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")])
            self.send_data(b"This is not a valid HTTP request.")
            self._send(h11.EndOfMessage())
        self.transport.close()

    def _hand_over(self, data: bytes) -> None:
        # Only those who speak HTTP/2 pay for its library.
        from portico.doors.http.http2_connection import Http2Connection, Http2Limits

        for name in list(self._timers):
            self._clear_timer(name)
        self._connections.discard(self)
        limits = Http2Limits(
            head_bytes=MAX_HEAD_BYTES, idle_seconds=self.idle_seconds, stranger_seconds=self.stranger_seconds
        )
        successor = Http2Connection(self._app, self.transport, self._connections, limits, self._room)
        self._room.succeed(self, successor)
        successor.begin(data)

    def _recognise(self) -> None:
        self._room.recognise(self)
        self._clear_timer("stranger")

    def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self.transport.write(data)

    def _set_timer(self, name: str, seconds: float) -> None:
        """Close the connection after a while, unless the timer is set already or cleared before."""
        if name not in self._timers:
            end = self.drop if name == "stranger" else self.transport.close
            self._timers[name] = self._loop.call_later(seconds, end)

    def _clear_timer(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
