"""One HTTP/1.1 call as an ASGI application sees it: its request body and its response."""

import asyncio
import logging
from typing import TYPE_CHECKING

from portico.doors.http.asgi import ASGIApp, Message, Scope

if TYPE_CHECKING:
    from portico.doors.http.http1_connection import Http1Connection

log = logging.getLogger("portico.web")

_MOST_UNREAD = 64 * 1024


class Http1Call:
    def __init__(self, connection: "Http1Connection", scope: Scope) -> None:
        self.is_started = False
        self.is_answered = False
        self._connection = connection
        self._scope = scope
        self._body = bytearray()
        self._is_request_complete = False
        self._is_gone = False
        self._arrived = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """Whether enough of the body waits for the app."""
        return len(self._body) > _MOST_UNREAD

    def feed(self, data: bytes) -> None:
        self._body += data
        self._arrived.set()

    def feed_end(self) -> None:
        self._is_request_complete = True
        self._arrived.set()

    def leave(self) -> None:
        """The client is gone: nothing more is received or sent."""
        self._is_gone = True
        self._arrived.set()

    async def run(self, app: ASGIApp) -> None:
        try:
            await app(self._scope, self.receive, self.send)
        except Exception:
            log.exception("failed method=%s", self._scope["method"])
        finally:
            if not self.is_answered:
                # The socket that the call became ends with it, too. Only closing tells the client that its response is not complete.
                self._connection.transport.close()

    async def receive(self) -> Message:
        if not self._is_gone and not self.is_answered:
            self._connection.resume_body()
            await self._arrived.wait()
            self._arrived.clear()
        if self._is_gone or self.is_answered:
            return {"type": "http.disconnect"}
        body = bytes(self._body)
        self._body.clear()
        return {"type": "http.request", "body": body, "more_body": not self._is_request_complete}

    async def send(self, message: Message) -> None:
        await self._connection.drain()
        if self._is_gone:
            # An app that keeps sending must not keep other calls from running.
            await asyncio.sleep(0)
            return
        match message["type"]:
            case "http.response.start" if not self.is_started:
                self.is_started = True
                self._connection.send_head(message["status"], message.get("headers", ()))
            case "http.response.body" if self.is_started and not self.is_answered:
                body = b"" if self._scope["method"] == "HEAD" else message.get("body", b"")
                self._connection.send_data(body)
                if not message.get("more_body", False):
                    self.is_answered = True
                    self._arrived.set()
                    self._connection.end_response()
            case kind:
                raise RuntimeError(f"Unexpected ASGI message {kind!r}.")
