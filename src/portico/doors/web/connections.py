"""One connection of the server, with an end to its patience.

The library waits for ever for the head of a request, and reads to its end a body that was refused.
Here a head has to come within seconds, and of an unwanted body only so much is thrown away as a
caller needs to notice its answer. A peer whose first words are HTTP/2's is handed over to it.
"""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from portico.doors.web.admission import STRANGER_SECONDS, Room, offer_recognition
from portico.doors.web.gathering import GatheringTransport
from portico.doors.web.http2_costs import PREFACE

MAX_HEAD_BYTES = 32 * 1024
IDLE_SECONDS = 30


class Connection(H11Protocol):
    head_seconds: ClassVar[float] = 10.0
    stranger_seconds: ClassVar[float] = STRANGER_SECONDS
    idle_seconds: ClassVar[float] = IDLE_SECONDS
    unwanted_bytes: ClassVar[int] = 1024 * 1024

    _deadline: asyncio.TimerHandle | None = None
    _stranger_deadline: asyncio.TimerHandle | None = None
    _unwanted = 0
    _first_words: bytes | None = b""
    """What the peer has said while that may still become either version; None once it is this one."""

    def __init__(self, *arguments: Any, room: Room, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._room = room

    @property
    def calls(self) -> int:
        cycle: Any = self.cycle  # None before the first call, whatever its type says
        return int(cycle is not None and not cycle.response_complete)

    def drop(self) -> None:
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(GatheringTransport(transport, self.loop))
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
        from portico.doors.web.http2 import Http2Connection, Limits

        self._clear_deadline()
        self._clear_stranger_deadline()
        self.connections.discard(self)
        limits = Limits(
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
