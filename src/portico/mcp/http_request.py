"""One blocking HTTP request to an MCP server, answered by JSON or an event stream."""

import http.client
import socket
from typing import Protocol

import msgspec
from msgspec import UnsetType

from portico.rpc.messages import ErrorObject, Fault, Frame, decode_frame

SESSION = "Mcp-Session-Id"
NETWORK_ERRORS = (OSError, http.client.HTTPException)
_LARGEST = 64 * 1024 * 1024
_PAUSE = 1.0
_SILENCE = 150.0
_LONGEST_PAUSE_DIGITS = 9


class ResponseListener(Protocol):
    """Whoever hears what comes besides the answer. Called in the thread of the errand."""

    def opened(self) -> None:
        """The server has begun to answer."""
        ...

    def asked(self, frame: Frame) -> None:
        """The server asks something itself."""
        ...


class McpHttpResponse(msgspec.Struct, frozen=True, kw_only=True):
    """`frame` answers the request, if it came. `last_event` is where a stream that ended can be taken up.

    A stream that was `streamed` to its end may be opened again. `moved` is where the server says that it is now.
    """

    status: int
    session: str | None
    kind: str = ""
    moved: str | None = None
    frame: Frame | None = None
    last_event: str | None = None
    pause: float = _PAUSE
    streamed: bool = False


class McpHttpRequest:
    """`number` is the id of the request whose answer is wanted. With `ears` it lasts as long as the server likes."""

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
            # The connection forgets it when the server is going to close it.
            self._socket = self._connection.sock
            # Whoever has ears has a deadline of their own, and may put it off while a person is asked.
            self._socket.settimeout(_SILENCE if self._listener is None else None)
            if self._abandoned:
                raise ConnectionAbortedError
            self._connection.request(verb, path, body=body, headers=headers)
            response = self._connection.getresponse()
            if self._listener is not None:
                self._listener.opened()
            session = response.getheader(SESSION)
            if response.headers.get_content_type() == "text/event-stream":
                return self._from_events(response, session)
            frame = self._take(response.read(_LARGEST + 1))
            return McpHttpResponse(
                status=response.status,
                session=session,
                frame=frame,
                kind=response.headers.get_content_type(),
                moved=response.getheader("Location"),
            )
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Nobody waits any more: what is being read ends at once."""
        self._abandoned = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _from_events(self, response: http.client.HTTPResponse, session: str | None) -> McpHttpResponse:
        data, read, last_event, pause = b"", 0, None, _PAUSE
        while read <= _LARGEST and (line := response.readline(_LARGEST)):
            read += len(line)
            field, _, value = line.rstrip(b"\r\n").partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data += value + b"\n"
                case b"id":
                    # As headers are encoded, so that it goes back as the bytes that it came as.
                    last_event = value.decode("latin-1")
                case b"retry" if value.isdigit() and len(value) <= _LONGEST_PAUSE_DIGITS:
                    pause = int(value) / 1000
                case b"" if (frame := self._take(data)) is not None:
                    return McpHttpResponse(status=response.status, session=session, frame=frame)
                case b"":
                    data = b""
                case _:
                    continue
        return McpHttpResponse(
            status=response.status,
            session=session,
            frame=self._take(data),
            last_event=last_event,
            pause=pause,
            streamed=True,
        )

    def _take(self, data: bytes) -> Frame | None:
        """The answer, if this is it."""
        if not data.strip() or len(data) > _LARGEST:
            return None
        frame = decode_frame(data.strip())
        if isinstance(frame, Fault):
            return None
        if not isinstance(frame.method, UnsetType):
            if self._listener is not None and not isinstance(frame.id, UnsetType):
                self._listener.asked(frame)
            return None
        if self._number is None or frame.id != self._number:
            return None
        answered = not isinstance(frame.result, UnsetType) or isinstance(frame.error, ErrorObject)
        return frame if answered else None
