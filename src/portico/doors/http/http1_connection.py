"""HTTP/1.1 connection with deadlines and limits; hands over to HTTP/2 when the peer asks for it.

The library waits for ever for the head of a request, and reads to its end a body that was refused.
Here a head has to come within seconds, and of an unwanted body only so much is thrown away as a
caller needs to notice its answer. A peer whose first words are HTTP/2's is handed over to it.
"""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from portico.doors.http.admission import STRANGER_SECONDS, AdmissionControl, offer_recognition
from portico.doors.http.http2_frame_budget import PREFACE

_LARGEST_PIECE = 64 * 1024


class BufferedTransport(asyncio.Transport):
    """Stands in for a transport. What it holds goes out before the loop waits, or when it is much."""

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


MAX_HEAD_BYTES = 32 * 1024
IDLE_SECONDS = 30


class Http1Connection(H11Protocol):
    head_seconds: ClassVar[float] = 10.0
    stranger_seconds: ClassVar[float] = STRANGER_SECONDS
    idle_seconds: ClassVar[float] = IDLE_SECONDS
    unwanted_bytes: ClassVar[int] = 1024 * 1024

    _deadline: asyncio.TimerHandle | None = None
    _stranger_deadline: asyncio.TimerHandle | None = None
    _unwanted = 0
    _first_words: bytes | None = b""
    """What the peer has said while that may still become either version; None once it is this one."""

    def __init__(self, *arguments: Any, room: AdmissionControl, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._room = room

    @property
    def calls(self) -> int:
        cycle: Any = self.cycle  # None before the first call, whatever its type says
        return int(cycle is not None and not cycle.response_complete)

    def drop(self) -> None:
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(BufferedTransport(transport, self.loop))
        self._room.enter(self)
        self._stranger_deadline = self.loop.call_later(self.stranger_seconds, self.drop)
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        if self._first_words is not None:
            self._first_words = data = self._first_words + data
            if data.startswith(PREFACE):
                self._hand_over(data)
                return
            if PREFACE.startswith(data):
                return
            self._first_words = None
        super().data_received(data)
        if self._has_refused():
            self._unwanted += len(data)
            self._set_deadline()
            if self._unwanted > self.unwanted_bytes:
                self.transport.close()
        elif self.conn.their_state is h11.IDLE:
            self._set_deadline()
        else:
            self._clear_deadline()

    def handle_events(self) -> None:
        before: Any = self.scope
        super().handle_events()
        scope: Any = self.scope
        if scope is not before:
            # The call's task has not begun yet.
            offer_recognition(scope, self._recognise)

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        self._clear_deadline()
        self._clear_stranger_deadline()
        super().connection_lost(exc)

    def _hand_over(self, data: bytes) -> None:
        # Only those who speak HTTP/2 pay for its library.
        from portico.doors.http.http2_connection import Http2Connection, Http2Limits

        self._clear_deadline()
        self._clear_stranger_deadline()
        self.connections.discard(self)
        limits = Http2Limits(
            head_bytes=MAX_HEAD_BYTES, idle_seconds=self.idle_seconds, stranger_seconds=self.stranger_seconds
        )
        successor = Http2Connection(self.app, self.transport, self.server_state, limits, self._room)
        self._room.succeed(self, successor)
        successor.begin(data)

    def _recognise(self) -> None:
        self._room.recognise(self)
        self._clear_stranger_deadline()

    def _has_refused(self) -> bool:
        """Whether the answer is out while the body still comes in."""
        return self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete

    def _set_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self.transport.close)

    def _clear_stranger_deadline(self) -> None:
        if self._stranger_deadline is not None:
            self._stranger_deadline.cancel()
            self._stranger_deadline = None

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
