"""HTTP/2 connection for gRPC: concurrent calls, trailers, and limits on what a peer may cost.

It takes over from HTTP/1.1 when a peer begins with the preface of HTTP/2. The protocol is the
library's, `h2`; the limits are set here:

| what a peer may have                     | at most                                            |
|------------------------------------------|----------------------------------------------------|
| concurrent calls, cancelled ones included| `_MOST_CALLS`; more are refused                    |
| the head of a call                       | `Http2Limits.head_bytes`, packed and unpacked      |
| unread body                              | `_WINDOW` for each call                            |
| unread responses                         | the socket's buffer; then nothing is read either   |
| frames without work                      | a `FrameBudget`                                    |
| time without a call                      | `Http2Limits.idle_seconds`                         |
| connections, and calls, of all peers     | `AdmissionControl`                                 |
"""

import asyncio
import logging

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import msgspec
from h2.errors import ErrorCodes
from hyperframe.frame import GoAwayFrame

from portico.doors.http.admission import AdmissionControl, offer_recognition
from portico.doors.http.asgi import ASGIApp, Scope
from portico.doors.http.headers import Header
from portico.doors.http.http2_call import Http2Call, build_scope
from portico.doors.http.http2_frame_budget import RESET_COST, FrameBudget, FrameMeter
from portico.doors.http.open_connections import OpenConnections, addresses

log = logging.getLogger("portico.web")

_MOST_CALLS = 100
_WINDOW = 65_535
_LARGEST_FRAME = 16 * 1024
_HEADER_TABLE = 4096
_AT_ONCE = 16 * 1024
"""Bytes that are read before the frame budget is checked."""
_FLUSH_SECONDS = 5.0
_EVERY_STREAM = 0


class Http2Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that HTTP/1.1 and HTTP/2 share."""

    head_bytes: int
    idle_seconds: float
    stranger_seconds: float


class _Frames(h2.connection.H2Connection):
    """The library's connection, which remembers fewer closed streams."""

    MAX_CLOSED_STREAMS = 1024


class Http2Connection(asyncio.Protocol):
    def __init__(
        self,
        app: ASGIApp,
        transport: asyncio.Transport,
        connections: OpenConnections,
        limits: Http2Limits,
        room: AdmissionControl,
    ) -> None:
        self.transport = transport
        self._app = app
        self._connections = connections
        self._limits = limits
        self._room = room
        self._loop = asyncio.get_running_loop()
        self._frames = _frames(limits.head_bytes)
        self._meter = FrameMeter(limits.head_bytes)
        self._budget = FrameBudget(self._loop.time)
        self._calls: dict[int, Http2Call] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stranger_deadline: asyncio.TimerHandle | None = None
        self._paused = False
        self._leaving = False
        self._closed = False

    def begin(self, data: bytes) -> None:
        """Take over a connection; `data` is what the peer has sent so far."""
        self._connections.add(self)
        self.transport.set_protocol(self)
        self._frames.initiate_connection()
        self._frames.increment_flow_control_window(_WINDOW * (_MOST_CALLS - 1))
        self._flush()
        self._stranger_deadline = self._loop.call_later(self._limits.stranger_seconds, self.drop)
        self._wait_for_calls()
        self.data_received(data)

    @property
    def calls(self) -> int:
        return len(self._calls)

    def drop(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _AT_ONCE):
            piece = data[start : start + _AT_ONCE]
            if self._closed or not self._pay(self._meter.cost(piece)):
                return
            try:
                events = self._frames.receive_data(piece)
            except h2.exceptions.ProtocolError as error:
                log.warning("refused an HTTP/2 connection: %s", type(error).__name__)
                self._hang_up()
                return
            for event in events:
                self._handle(event)
            self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        self._connections.discard(self)
        self._room.leave(self)
        self._clear_stranger_deadline()
        self._stop_timer()
        self._leave_all()

    def pause_writing(self) -> None:
        self._paused = True
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        self.transport.resume_reading()
        self._wake(_EVERY_STREAM)

    def shutdown(self) -> None:
        """Accept no more calls, and close after the last one."""
        self._leaving = True
        if not self._calls:
            self._close(ErrorCodes.NO_ERROR)
        elif not self._closed:
            # The library sends GOAWAY only when it closes the connection.
            goodbye = GoAwayFrame(0, last_stream_id=self._frames.highest_inbound_stream_id)
            self.transport.write(goodbye.serialize())

    def _handle(self, event: h2.events.Event) -> None:
        match event:
            case _ if self._closed:
                pass
            case h2.events.RequestReceived():
                self._open(event.stream_id, event.headers)
            case h2.events.DataReceived():
                self._feed(event.stream_id, event.data, event.flow_controlled_length)
            case h2.events.StreamEnded() if event.stream_id in self._calls:
                self._calls[event.stream_id].feed_end()
            case h2.events.StreamReset() if event.stream_id in self._calls:
                self._calls[event.stream_id].leave()
            case h2.events.WindowUpdated():
                self._wake(event.stream_id)
            case h2.events.RemoteSettingsChanged():
                # A peer may announce a header table of gigabytes, which we would have to keep as well.
                encoder = self._frames.encoder
                encoder.header_table_size = min(encoder.header_table_size, _HEADER_TABLE)
                self._wake(_EVERY_STREAM)
            case h2.events.ConnectionTerminated():
                self._hang_up()
            case _:
                pass

    def _open(self, stream_id: int, headers: list[Header]) -> None:
        scope = build_scope(headers)
        if scope is None:
            self._refuse(stream_id, ErrorCodes.PROTOCOL_ERROR)
        elif self._leaving or self._is_full():
            self._refuse(stream_id, ErrorCodes.REFUSED_STREAM)
        else:
            self._stop_timer()
            scope["client"], scope["server"] = addresses(self.transport)
            offer_recognition(scope, self._recognise)
            call = self._calls[stream_id] = Http2Call(self, stream_id, scope["method"])
            self._connections.start_call(self._run(call, scope), name=f"HTTP/2 call {stream_id}")

    def _is_full(self) -> bool:
        return len(self._calls) >= _MOST_CALLS or not self._room.has_room_for_call(self)

    def _recognise(self) -> None:
        self._room.recognise(self)
        self._clear_stranger_deadline()

    def _clear_stranger_deadline(self) -> None:
        if self._stranger_deadline is not None:
            self._stranger_deadline.cancel()
            self._stranger_deadline = None

    async def _run(self, call: Http2Call, scope: Scope) -> None:
        try:
            await self._app(scope, call.receive, call.send)
        except Exception:
            log.exception("failed method=%s", scope["method"])
        finally:
            self._end(call)

    def _end(self, call: Http2Call) -> None:
        """Clean up after a call."""
        del self._calls[call.stream_id]
        if self._closed:
            return
        if not call.is_answered and not call.is_gone:
            self._reset(call.stream_id, ErrorCodes.INTERNAL_ERROR)
        elif call.is_answered and not call.is_request_complete:
            self._reset(call.stream_id, ErrorCodes.NO_ERROR)
        if call.is_answered:
            self._budget.earn(RESET_COST)
        call.leave()
        if self._calls:
            return
        if self._leaving:
            self._close(ErrorCodes.NO_ERROR)
        else:
            self._wait_for_calls()

    def _feed(self, stream_id: int, data: bytes, flow: int) -> None:
        call = self._calls.get(stream_id)
        if call is None or call.is_gone:
            self.took(stream_id, flow)
        else:
            call.feed(data, flow)

    def room(self, stream_id: int) -> int:
        if self._paused or self._closed:
            return 0
        return min(self._frames.local_flow_control_window(stream_id), _LARGEST_FRAME)

    def send_head(self, stream_id: int, headers: list[Header], *, end: bool) -> None:
        self._frames.send_headers(stream_id, headers, end_stream=end)
        self._flush()

    def send_data(self, stream_id: int, data: bytes, *, end: bool) -> None:
        self._frames.send_data(stream_id, data, end_stream=end)
        self._flush()

    def sent_message(self) -> None:
        self._budget.earn(2)

    def took(self, stream_id: int, size: int) -> None:
        if size and not self._closed:
            self._frames.acknowledge_received_data(size, stream_id)
            self._flush()

    def _pay(self, cost: float) -> bool:
        """Charge the peer's frame budget. Closes the connection and returns False if it is used up."""
        if self._budget.spend(cost):
            return True
        log.warning("refused an HTTP/2 connection: a flood of frames")
        self._close(ErrorCodes.ENHANCE_YOUR_CALM)
        return False

    def _refuse(self, stream_id: int, code: ErrorCodes) -> None:
        if self._pay(RESET_COST):
            self._reset(stream_id, code)

    def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        try:
            self._frames.reset_stream(stream_id, code)
        except h2.exceptions.NoSuchStreamError:
            # The peer has reset the stream at the same time.
            return
        self._flush()

    def _wake(self, stream_id: int) -> None:
        for call in self._calls.values():
            if stream_id in (_EVERY_STREAM, call.stream_id):
                call.wake()

    def _leave_all(self) -> None:
        for call in self._calls.values():
            call.leave()

    def _flush(self) -> None:
        if data := self._frames.data_to_send():
            self.transport.write(data)

    def _close(self, code: ErrorCodes) -> None:
        if not self._closed:
            self._frames.close_connection(code)
            self._hang_up()

    def _hang_up(self) -> None:
        """Flush and close. A peer that does not read is aborted after a while."""
        self._flush()
        self._closed = True
        self._stop_timer()
        self._timer = self._loop.call_later(_FLUSH_SECONDS, self.transport.abort)
        self._leave_all()
        self.transport.close()

    def _wait_for_calls(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(self._limits.idle_seconds, self._close, ErrorCodes.NO_ERROR)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _frames(max_head: int) -> _Frames:
    frames = _Frames(h2.config.H2Configuration(client_side=False, header_encoding=None))
    codes = h2.settings.SettingCodes
    limits = {codes.MAX_CONCURRENT_STREAMS: _MOST_CALLS, codes.MAX_HEADER_LIST_SIZE: max_head}
    frames.local_settings = h2.settings.Settings(client=False, initial_values=limits)
    frames.decoder.max_header_list_size = max_head
    return frames
