"""One HTTP/2 call as an ASGI application sees it: its scope, request body and response.

Nothing is buffered for a peer that does not read: the app waits until the peer's window is open. Of a
request body at most one window is read ahead.
"""

import asyncio
from typing import TYPE_CHECKING

from portico.doors.http.asgi import Message, Scope, make_scope
from portico.doors.http.headers import Header

if TYPE_CHECKING:
    from portico.doors.http.http2_connection import Http2Connection


def build_scope(headers: list[Header]) -> Scope | None:
    """The scope of a call; None for a malformed head. The library has checked what HTTP/2 requires."""
    pseudo = {name: value for name, value in headers if name.startswith(b":")}
    plain = [(name, value) for name, value in headers if not name.startswith(b":")]
    if b":authority" in pseudo:
        others = (header for header in plain if header[0] != b"host")
        plain = [(b"host", pseudo[b":authority"]), *others]
    target, method = pseudo.get(b":path", b""), pseudo.get(b":method", b"")
    if not target.isascii() or not target.startswith((b"/", b"*")) or not method.isascii():
        return None
    return {**make_scope("2", method, target, plain), "extensions": {"http.response.trailers": {}}}


_GONE: Message = {"type": "http.disconnect"}
_BODILESS = frozenset({204, 304})
_PAUSE_BYTES = 64 * 1024
"""Bytes that an app may send before other tasks get to run."""


class Http2Call:
    def __init__(self, connection: "Http2Connection", stream_id: int, method: str) -> None:
        self.stream_id = stream_id
        self.is_request_complete = False
        """Whether the whole request has arrived."""
        self.is_started = False
        self.is_answered = False
        self.is_gone = False
        self._connection = connection
        self._headless = method == "HEAD"
        self._head: list[Header] | None = None
        self._trailers: list[Header] | None = None
        self._body = bytearray()
        self._flow = 0
        self._bytes_since_pause = 0
        self._end_delivered = False
        self._arrived = asyncio.Event()
        self._may_send = asyncio.Event()

    def feed(self, data: bytes, flow: int) -> None:
        """Add a part of the body; `flow` is how much of the window it used."""
        self._body += data
        self._flow += flow
        self._arrived.set()

    def feed_end(self) -> None:
        self.is_request_complete = True
        self._arrived.set()

    def leave(self) -> None:
        """The client is gone or has its response: nothing more is received or sent."""
        self.is_gone = True
        self._body.clear()
        self._give_back()
        self._arrived.set()
        self._may_send.set()

    def wake(self) -> None:
        """There may be room to send again."""
        self._may_send.set()

    async def receive(self) -> Message:
        while not self.is_gone:
            if self._body or (self.is_request_complete and not self._end_delivered):
                body = bytes(self._body)
                self._body.clear()
                self._give_back()
                self._end_delivered = self.is_request_complete
                return {"type": "http.request", "body": body, "more_body": not self.is_request_complete}
            self._arrived.clear()
            await self._arrived.wait()
        return _GONE

    async def send(self, message: Message) -> None:
        if self.is_gone:
            # An app that keeps sending must not keep other calls from running.
            await asyncio.sleep(0)
            return
        match message["type"]:
            case "http.response.start" if self._head is None:
                self._start(message)
            case "http.response.body" if self._head is not None:
                await self._send_body(message.get("body", b""), more=message.get("more_body", False))
            case "http.response.trailers" if self._trailers is not None:
                self._trailers += message.get("headers", ())
                if not message.get("more_trailers", False):
                    self._begin()
                    self._connection.send_head(self.stream_id, self._trailers, end=True)
                    self._finish()
            case kind:
                raise RuntimeError(f"Unexpected ASGI message {kind!r}.")

    def _start(self, message: Message) -> None:
        """Keep the head until the first part of the body: a response without a body ends with its head."""
        status: int = message["status"]
        self._headless = self._headless or status in _BODILESS
        self._head = [(b":status", b"%d" % status), *message.get("headers", ())]
        if message.get("trailers", False):
            self._trailers = []

    def _begin(self, *, end: bool = False) -> None:
        if not self.is_started and self._head is not None:
            self.is_started = True
            self._connection.send_head(self.stream_id, self._head, end=end)

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        end = not more and self._trailers is None
        if self._headless:
            body = b""
        if not body and not self.is_started and end:
            self._begin(end=True)
            self._finish()
            return
        self._begin()
        start = 0
        while start < len(body):
            size = min(await self._room(), len(body) - start)
            if self.is_gone:
                return
            last = start + size == len(body)
            self._connection.send_data(self.stream_id, body[start : start + size], end=end and last)
            start += size
            await self._let_others_run(size)
        self._connection.sent_message()
        if end:
            if not body:
                self._connection.send_data(self.stream_id, b"", end=True)
            self._finish()

    async def _room(self) -> int:
        while (room := self._connection.room(self.stream_id)) <= 0 and not self.is_gone:
            self._may_send.clear()
            await self._may_send.wait()
        return room

    async def _let_others_run(self, size: int) -> None:
        self._bytes_since_pause += size
        if self._bytes_since_pause >= _PAUSE_BYTES:
            self._bytes_since_pause = 0
            await asyncio.sleep(0)

    def _finish(self) -> None:
        self.is_answered = True
        self.leave()

    def _give_back(self) -> None:
        if self._flow:
            self._connection.took(self.stream_id, self._flow)
            self._flow = 0
