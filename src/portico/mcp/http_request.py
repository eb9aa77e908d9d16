"""One blocking HTTP request to an MCP server, answered by JSON or an event stream."""

import asyncio
import http.client
import socket
from collections.abc import Callable

import msgspec

from portico.mcp.event_stream import EVENT_STREAM, EventReader
from portico.mcp.protocol import SESSION_HEADER
from portico.rpc.frames import read_line
from portico.rpc.messages import Message

NETWORK_ERRORS = (OSError, http.client.HTTPException)
_LARGEST = 64 * 1024 * 1024
_SILENCE = 150.0


class ResponseListener:
    """Passes what comes besides the response from the thread of a request to the event loop.

    `receive` gets the requests that the server sends; `open` is set when it begins to respond.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, receive: Callable[[Message], None]) -> None:
        self.open = asyncio.Event()
        self._loop = loop
        self._receive = receive

    def opened(self) -> None:
        self._loop.call_soon_threadsafe(self.open.set)

    def asked(self, message: Message) -> None:
        self._loop.call_soon_threadsafe(self._receive, message)


class McpHttpResponse(msgspec.Struct, frozen=True, kw_only=True):
    """`message` is the JSON-RPC response, if it came. `last_event` is where a stream that ended can be resumed.

    A stream that was `streamed` to its end may be opened again. `moved` is the server's new address, if it gave one.
    """

    status: int
    session: str | None
    kind: str = ""
    moved: str | None = None
    message: Message | None = None
    last_event: str | None = None
    retry_seconds: float = 1.0
    streamed: bool = False


class McpHttpRequest:
    """`number` is the id of the JSON-RPC request. With a listener there is no limit on how long it may take."""

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        verb: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        number: int | None = None,
        listener: ResponseListener | None = None,
    ) -> None:
        self._connection = connection
        self._asked = (verb, path, body or None, headers)
        self._number = number
        self._listener = listener
        self._socket: socket.socket | None = None
        self._abandoned = False

    def run(self) -> McpHttpResponse:
        """Blocks. One of `NETWORK_ERRORS` when the server cannot be reached."""
        try:
            verb, path, body, headers = self._asked
            self._connection.connect()
            # The connection drops its own reference when the server is going to close it.
            self._socket = self._connection.sock
            # A caller with a listener has its own deadline, and may extend it while a person is asked.
            self._socket.settimeout(_SILENCE if self._listener is None else None)
            if self._abandoned:
                raise ConnectionAbortedError
            self._connection.request(verb, path, body=body, headers=headers)
            response = self._connection.getresponse()
            if self._listener is not None:
                self._listener.opened()
            session = response.getheader(SESSION_HEADER)
            if response.headers.get_content_type() == EVENT_STREAM:
                return self._from_events(response, session)
            message = self._take(response.read(_LARGEST + 1))
            return McpHttpResponse(
                status=response.status,
                session=session,
                message=message,
                kind=response.headers.get_content_type(),
                moved=response.getheader("Location"),
            )
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Give up: reading ends at once."""
        self._abandoned = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _from_events(self, response: http.client.HTTPResponse, session: str | None) -> McpHttpResponse:
        events, read = EventReader(), 0
        while read <= _LARGEST and (line := response.readline(_LARGEST)):
            read += len(line)
            data = events.feed(line)
            if data is not None and (message := self._take(data)) is not None:
                return McpHttpResponse(status=response.status, session=session, message=message)
        return McpHttpResponse(
            status=response.status,
            session=session,
            message=self._take(events.end()),
            last_event=events.last_event,
            retry_seconds=events.retry_seconds,
            streamed=True,
        )

    def _take(self, data: bytes) -> Message | None:
        """The response, if this is it."""
        if not data.strip() or len(data) > _LARGEST:
            return None
        message = read_line(data.strip())
        if not isinstance(message, Message):
            return None
        if message.method is not None:
            if self._listener is not None and message.is_request:
                self._listener.asked(message)
            return None
        return message if self._number is not None and message.id == self._number else None
