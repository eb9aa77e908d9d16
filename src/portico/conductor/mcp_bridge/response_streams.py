"""Routes MCP responses and notifications to the HTTP responses that are open for them.

An answer goes to the request it belongs to, and so does what is said about that request before. What belongs
to none goes to the stream that the agent keeps open for it; failing that, to any answer that is still open.
"""

import asyncio
import logging

import msgspec
from msgspec import UnsetType

from portico.conductor.mcp_bridge.mcp_over_acp import SERVER_UNAVAILABLE
from portico.conductor.mcp_bridge.provider import McpOutcome
from portico.conductor.mcp_bridge.stdio_server import encode_outcome
from portico.rpc.messages import RequestId, RpcError

log = logging.getLogger(__name__)

_MOST_WAITING = 256


class FinalResponse(msgspec.Struct, frozen=True):
    """The last thing that a carrier has; `error` is the code of an error."""

    line: bytes
    error: int | None = None


class ResponseStream:
    """What one HTTP answer still has to write, in order. None is the end of one that carries no answer."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[bytes | FinalResponse | None] = asyncio.Queue()

    def put(self, line: bytes) -> bool:
        """False if its reader is too far behind."""
        if self._waiting.qsize() >= _MOST_WAITING:
            return False
        self._waiting.put_nowait(line)
        return True

    def end(self, answer: FinalResponse | None) -> None:
        self._waiting.put_nowait(answer)

    async def next(self, within: float) -> bytes | FinalResponse | None:
        """What comes next; an empty line if nothing does for so many seconds."""
        try:
            async with asyncio.timeout(within):
                return await self._waiting.get()
        except TimeoutError:
            return b""


class ResponseRouter:
    """Those of one conversation: one for each request that is being answered, and one for all else."""

    def __init__(self) -> None:
        self._answers: dict[RequestId, ResponseStream] = {}
        self._other: ResponseStream | None = None

    @property
    def idle(self) -> bool:
        return not self._answers and self._other is None

    def open_for_request(self, request_id: RequestId) -> ResponseStream | None:
        """A carrier for the answer to a request; None if there is one already."""
        if request_id in self._answers:
            return None
        carrier = self._answers[request_id] = ResponseStream()
        return carrier

    def open_for_notifications(self) -> ResponseStream | None:
        if self._other is not None:
            return None
        self._other = ResponseStream()
        return self._other

    def drop(self, carrier: ResponseStream) -> None:
        """Nobody reads it any more."""
        self._answers = {key: one for key, one in self._answers.items() if one is not carrier}
        if self._other is carrier:
            self._other = None

    def close_all(self) -> None:
        """The conversation is over, and so is everything that was asked in it."""
        gone = RpcError(SERVER_UNAVAILABLE, "the session of this server is closed")
        for request_id, carrier in self._answers.items():
            carrier.end(FinalResponse(encode_outcome(request_id, gone), gone.code))
        if self._other is not None:
            self._other.end(None)

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        carrier = self._answers.pop(request_id, None)
        if carrier is None:
            log.debug("an agent did not wait for the answer to an MCP request")
            return
        code = outcome.code if isinstance(outcome, RpcError) else None
        carrier.end(FinalResponse(encode_outcome(request_id, outcome), code))

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        belonging = None if isinstance(about, UnsetType) else self._answers.get(about)
        candidates = (belonging, self._other, *self._answers.values())
        return any(carrier.put(line) for carrier in candidates if carrier is not None)
