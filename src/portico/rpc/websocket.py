"""WebSocket after its handshake, for both sides: whole text messages over any transport, and acknowledging pings."""

import asyncio
import base64
import hashlib
import os
from collections.abc import Awaitable, Callable

from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from portico.rpc.streams import StreamClosed

MAX_MESSAGE = 64 * 1024 * 1024
NORMAL, TOO_LARGE, REPLACED = 1000, 1009, 4000
_ACCEPT_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST_UNREAD = 1024 * 1024


class Acknowledgement(int):
    """Number of messages that the other side has received in all."""


Incoming = str | Acknowledgement
_ACKNOWLEDGED = b"received "


def make_key() -> str:
    """A value for Sec-WebSocket-Key."""
    return base64.b64encode(os.urandom(16)).decode()


def accept_key(key: str) -> str:
    """The value of Sec-WebSocket-Accept for a key."""
    return base64.b64encode(hashlib.sha1(key.encode() + _ACCEPT_SUFFIX).digest()).decode()


class WebSocket:
    """Feed it what arrives; `receive` has the messages. It ends with a close frame, or without one."""

    def __init__(
        self,
        kind: ConnectionType,
        write: Callable[[bytes], object],
        drain: Callable[[], Awaitable[None]],
        end: Callable[[], object],
        hold: Callable[[bool], object] = lambda _: None,
    ) -> None:
        self.close_code: int | None = None
        """The code of the other side's close frame; None if it just went away."""
        self._frames = Connection(kind)
        self._write = write
        self._drain = drain
        self._end = end
        self._hold = hold
        self._parts: list[str] = []
        self._arrived: list[Incoming] = []
        self._size = 0
        self._is_over = False
        self._changed = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Take bytes of the other side."""
        try:
            self._frames.receive_data(data)
            for event in self._frames.events():
                self._take(event)
        except RemoteProtocolError:
            self.lose()
            self._end()

    def lose(self) -> None:
        """The connection is gone."""
        self._is_over = True
        self._changed.set()

    async def receive(self) -> Incoming | None:
        """The next message; None at the end."""
        while not self._arrived:
            if self._is_over:
                return None
            self._changed.clear()
            await self._changed.wait()
        message = self._arrived.pop(0)
        if isinstance(message, str):
            self._size -= len(message)
            if self._size <= _MOST_UNREAD:
                self._hold(False)
        return message

    async def send(self, text: str) -> None:
        """StreamClosed when the connection is over."""
        await self._send(TextMessage(data=text))

    async def acknowledge(self, received: int) -> None:
        """Tell the other side how many messages have arrived; one that does not know this sees a ping."""
        await self._send(Ping(payload=_ACKNOWLEDGED + str(received).encode()))

    def close(self, code: int = NORMAL) -> None:
        if not self._is_over:
            self._is_over = True
            try:
                self._write(self._frames.send(CloseConnection(code=code)))
            except LocalProtocolError:
                pass  # Closed already.
        self._changed.set()
        self._end()

    async def _send(self, event: TextMessage | Ping) -> None:
        if self._is_over:
            raise StreamClosed
        try:
            self._write(self._frames.send(event))
        except LocalProtocolError as error:
            raise StreamClosed from error
        await self._drain()

    def _take(self, event: object) -> None:
        if isinstance(event, TextMessage):
            self._parts.append(event.data)
            if sum(map(len, self._parts)) > MAX_MESSAGE:
                self.close(TOO_LARGE)
            elif event.message_finished:
                self._arrive("".join(self._parts))
                self._parts.clear()
        elif isinstance(event, Ping):
            self._write(self._frames.send(event.response()))
            payload = bytes(event.payload)
            if payload.startswith(_ACKNOWLEDGED) and payload[len(_ACKNOWLEDGED) :].isdigit():
                self._arrive(Acknowledgement(payload[len(_ACKNOWLEDGED) :]))
        elif isinstance(event, CloseConnection):
            self.close_code = event.code
            if not self._is_over:
                self._is_over = True
                try:
                    self._write(self._frames.send(event.response()))
                except LocalProtocolError:
                    pass  # The answer to our own close frame.
            self._changed.set()
            self._end()

    def _arrive(self, message: Incoming) -> None:
        self._arrived.append(message)
        if isinstance(message, str):
            self._size += len(message)
            if self._size > _MOST_UNREAD:
                self._hold(True)
        self._changed.set()
