"""Routes MCP responses and notifications to the HTTP responses that are open for them.

A response goes to the HTTP request that asked for it, and so do notifications about that request. Everything else
goes to the stream that the client keeps open for it, or else to any response that is still open.
"""

import asyncio
import logging

import msgspec
from msgspec import UnsetType

from portico.mcp.protocol import SERVER_UNAVAILABLE
from portico.mcp.server_connection import McpOutcome
from portico.mcp.stdio_server import encode_outcome
from portico.rpc.messages import RequestId, RpcError

log = logging.getLogger(__name__)

_MOST_WAITING = 256


class FinalResponse(msgspec.Struct, frozen=True):
    """The last line of a response stream; `error` is its code if it is an error."""

    line: bytes
    error: int | None = None


class ResponseStream:
    """Lines that one HTTP response has yet to write, in order. None ends a stream without a response."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes | FinalResponse | None] = asyncio.Queue()

    def put(self, line: bytes) -> bool:
        """Queue a line; False if the reader is too far behind."""
        if self._waiting.qsize() >= _MOST_WAITING:
            return False
        self._waiting.put_nowait(line)
        return True

    def end(self, answer: FinalResponse | None) -> None:
        self._waiting.put_nowait(answer)

    async def next(self, within: float) -> bytes | FinalResponse | None:
        """The next line; an empty one if none comes within the given seconds."""
        try:
            async with asyncio.timeout(within):
                return await self._waiting.get()
        except TimeoutError:
            return b""


class ResponseRouter:
    """The streams of one connection: one for each open request, and one for everything else."""

    def __init__(self) -> None:
        self._answers: dict[RequestId, ResponseStream] = {}
        self._other: ResponseStream | None = None

    @property
    def idle(self) -> bool:
        return not self._answers and self._other is None

    def open_for_request(self, request_id: RequestId) -> ResponseStream | None:
        """A stream for the response to a request; None if there is one already."""
        if request_id in self._answers:
            return None
        stream = self._answers[request_id] = ResponseStream()
        return stream

    def open_for_notifications(self) -> ResponseStream | None:
        if self._other is not None:
            return None
        self._other = ResponseStream()
        return self._other

    def drop(self, stream: ResponseStream) -> None:
        """Forget a stream that is no longer read."""
        self._answers = {key: one for key, one in self._answers.items() if one is not stream}
        if self._other is stream:
            self._other = None

    def close_all(self) -> None:
        """End all streams; open requests get an error."""
        gone = RpcError(SERVER_UNAVAILABLE, "the session of this server is closed")
        for request_id, stream in self._answers.items():
            stream.end(FinalResponse(encode_outcome(request_id, gone), gone.code))
        if self._other is not None:
            self._other.end(None)

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        stream = self._answers.pop(request_id, None)
        if stream is None:
            log.debug("an MCP client did not wait for a response")
            return
        code = outcome.code if isinstance(outcome, RpcError) else None
        stream.end(FinalResponse(encode_outcome(request_id, outcome), code))

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        belonging = None if isinstance(about, UnsetType) else self._answers.get(about)
        candidates = (belonging, self._other, *self._answers.values())
        return any(stream.put(line) for stream in candidates if stream is not None)
