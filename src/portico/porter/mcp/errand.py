"""One HTTP request to an MCP server and what comes back, in a thread of its own: JSON, or events one by one."""

import http.client
import socket

import msgspec
from msgspec import UnsetType

from portico.rpc.messages import ErrorObject, Fault, Frame, decode_frame

SESSION = "Mcp-Session-Id"
Failure = (OSError, http.client.HTTPException)
_LARGEST = 64 * 1024 * 1024
_PAUSE = 1.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`frame` answers the request, if it came. `last_event` is where a stream that ended can be taken up."""

    status: int
    session: str | None
    frame: Frame | None = None
    last_event: str | None = None
    pause: float = _PAUSE


class Errand:
    """`number` is the id of the request whose answer is wanted; what else comes is passed over."""

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        verb: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        number: int | None,
    ) -> None:
        self._connection = connection
        self._asked = (verb, path, body or None, headers)
        self._number = number

    def run(self) -> Answer:
        """Blocks. One of `Failure` when the server cannot be reached."""
        try:
            verb, path, body, headers = self._asked
            self._connection.request(verb, path, body=body, headers=headers)
            response = self._connection.getresponse()
            session = response.getheader(SESSION)
            if response.headers.get_content_type() == "text/event-stream":
                return self._from_events(response, session)
            frame = self._own(response.read(_LARGEST + 1))
            return Answer(status=response.status, session=session, frame=frame)
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Nobody waits any more: what is being read ends at once."""
        connected: socket.socket | None = self._connection.sock
        if connected is not None:
            try:
                connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _from_events(self, response: http.client.HTTPResponse, session: str | None) -> Answer:
        data, read, last_event, pause = b"", 0, None, _PAUSE
        while read <= _LARGEST and (line := response.readline(_LARGEST)):
            read += len(line)
            field, _, value = line.rstrip(b"\r\n").partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data += value + b"\n"
                case b"id":
                    last_event = value.decode(errors="replace")
                case b"retry" if value.isdigit():
                    pause = int(value) / 1000
                case b"" if (frame := self._own(data)) is not None:
                    return Answer(status=response.status, session=session, frame=frame)
                case b"":
                    data = b""
                case _:
                    continue
        return Answer(
            status=response.status,
            session=session,
            frame=self._own(data),
            last_event=last_event,
            pause=pause,
        )

    def _own(self, data: bytes) -> Frame | None:
        if self._number is None or not data.strip() or len(data) > _LARGEST:
            return None
        frame = decode_frame(data.strip())
        if isinstance(frame, Fault) or frame.id != self._number:
            return None
        answered = not isinstance(frame.result, UnsetType) or isinstance(frame.error, ErrorObject)
        return frame if answered else None
