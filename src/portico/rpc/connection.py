"""A JSON-RPC connection: requests, responses, cancellation and the order in which messages are handled.

The order it keeps (docs/concepts/ordering.md says why):

- notifications are handled one after another, to completion, in the order received: their
  handler is a plain function, so it cannot wait for the peer;
- a response wakes its caller only after every earlier notification was handled, and the caller
  runs up to its next wait before the next message is read;
- each request is handled in a task of its own, so a handler that waits for the peer never
  blocks the reader.

It knows no method names but `$/cancel_request`, no ACP, and no transport.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Raw, UnsetType

from portico.domain import codecs
from portico.rpc.framing import MAX_LINE, LineSplitter, OverlongLine
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NO_PARAMS,
    REQUEST_CANCELLED,
    ConnectionLost,
    ErrorObject,
    Fault,
    Frame,
    RequestId,
    RpcError,
    decode_frame,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    make_fault,
    malformed_request_id,
    malformed_response_error,
    malformed_response_id,
    shorten,
)
from portico.rpc.streams import ByteStream, StreamClosed

log = logging.getLogger(__name__)

MAX_REQUESTS_IN_FLIGHT = 1024
FINISH_SECONDS = 5.0
"""How long what was asked before the peer closed its end may take; after that it is cancelled, and answered so."""
_REMEMBERED_CANCELS = 1024

Direction = Literal["sent", "received"]
Tap = Callable[[Direction, bytes], None]


class RpcReply(msgspec.Struct, frozen=True):
    """A result, and what to do right after it was written."""

    result: Any
    afterwards: Callable[[], None] | None = None


class RpcHandler(Protocol):
    """The owner's side of a connection."""

    def notification(self, method: str, params: Raw) -> None:
        """Take a notification. Runs to completion before the next message is looked at."""
        ...

    async def request(self, method: str, params: Raw) -> RpcReply:
        """Answer a request, in a task of its own. RpcError becomes the error answer."""
        ...

    def fault(self, fault: Fault) -> None:
        """Hear of something malformed that was passed over."""
        ...

    async def ready(self) -> None:
        """Called between reads; waiting here holds the peer back."""
        ...


class RpcConnection:
    def __init__(
        self,
        stream: ByteStream,
        handler: RpcHandler,
        *,
        name: str,
        tap: Tap | None = None,
        max_line: int = MAX_LINE,
        finishes: bool = False,
    ) -> None:
        """With `finishes`, what the peer asked before it closed its end is answered, for as long as it listens."""
        self._stream = stream
        self._handler = handler
        self._name = name
        self._tap = tap
        self._splitter = LineSplitter(max_line)
        self._finishes = finishes
        self._next_id = 0
        self._waiting: dict[RequestId, asyncio.Future[Raw]] = {}
        self._canceled: dict[RequestId, None] = {}
        self._serving: dict[RequestId, asyncio.Task[None]] = {}
        self._response_arrived = False
        self._lost: ConnectionLost | None = None

    async def run(self) -> None:
        """Read until the stream ends. Then nobody waits for an answer and nothing is being served."""
        try:
            while chunk := await self._stream.read():
                for line in self._splitter.feed(chunk):
                    self._receive(line)
                    if self._response_arrived:
                        self._response_arrived = False
                        await asyncio.sleep(0)
                await self._handler.ready()
            rest = self._splitter.end()
            # An answer may have been cut off where it still makes sense, and nothing is done on the word of half a one.
            if rest is not None and not (self._finishes and _is_answer(rest)):
                self._receive(rest)
            if self._finishes:
                await self._finish()
        finally:
            await self._end()

    async def request(self, method: str, params: Any) -> Raw:
        """Call the peer and wait for its result. RpcError if it answers with an error."""
        if self._lost is not None:
            raise self._lost
        self._next_id += 1
        request_id = self._next_id
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            self._write(encode_request(request_id, method, params))
            return await answer
        except asyncio.CancelledError:
            self._cancel_at_peer(request_id)
            raise
        finally:
            self._waiting.pop(request_id, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification, in order with everything else that is sent."""
        self._write(encode_notification(method, params))

    async def drain(self) -> None:
        """Wait until the peer has kept up with what was sent."""
        try:
            await self._stream.drain()
        except StreamClosed as error:
            raise ConnectionLost(f"{self._name} is gone") from error

    async def close(self) -> None:
        await self._stream.close()

    def _write(self, data: bytes) -> None:
        if self._tap is not None:
            self._tap("sent", data)
        try:
            self._stream.write(data)
        except StreamClosed as error:
            raise ConnectionLost(f"{self._name} is gone") from error

    def _receive(self, line: bytes | OverlongLine) -> None:
        try:
            self._take_line(line)
        except Exception:  # top level of a received line: no message of a peer ends the connection
            log.exception("%s: a message could not be handled", self._name)

    def _take_line(self, line: bytes | OverlongLine) -> None:
        if isinstance(line, bytes):
            if not line.strip():
                return
            if self._tap is not None:
                self._tap("received", line)
        frame = decode_frame(line)
        if isinstance(frame, Fault):
            self._handler.fault(frame)
            if not isinstance(request_id := malformed_request_id(line), UnsetType):
                self._answer(encode_error(request_id, RpcError(INVALID_REQUEST, frame.detail)))
            elif (answered := malformed_response_id(line)) in self._waiting:
                error = malformed_response_error(frame)
                self._take_response(Frame(id=answered, error=ErrorObject(error.code, error.message)), b"")
        elif isinstance(line, bytes):
            self._take(frame, line)

    def _take(self, frame: Frame, line: bytes) -> None:
        if isinstance(frame.method, UnsetType):
            self._take_response(frame, line)
        elif isinstance(frame.id, UnsetType):
            self._take_notification(frame.method, _params(frame))
        else:
            self._take_request(frame.id, frame.method, _params(frame), line)

    def _take_notification(self, method: str, params: Raw) -> None:
        if method == CANCEL_REQUEST:
            with suppress(msgspec.DecodeError):
                target = codecs.decode_json(params, _Cancel).request_id
                if (task := self._serving.get(target)) is not None:
                    task.cancel()
            return
        self._handler.notification(method, params)

    def _take_response(self, frame: Frame, line: bytes) -> None:
        if isinstance(frame.id, UnsetType):
            self._handler.fault(
                make_fault("not_a_message", "neither request, notification nor response", line)
            )
            return
        answer = self._waiting.get(frame.id)
        if answer is None or answer.done():
            given_up = answer is not None or self._canceled.pop(frame.id, self) is not self
            if not given_up:
                self._handler.fault(
                    make_fault("unknown_response", f"nobody asked request {shorten(frame.id)}", line)
                )
            return
        self._response_arrived = True
        if isinstance(frame.error, ErrorObject):
            answer.set_exception(RpcError(frame.error.code, frame.error.message, frame.error.data))
        elif isinstance(frame.result, Raw):
            answer.set_result(frame.result)

    def _take_request(self, request_id: RequestId, method: str, params: Raw, line: bytes) -> None:
        if request_id in self._serving:
            self._handler.fault(
                make_fault("duplicate_id", f"request {shorten(request_id)} is still being served", line)
            )
            return
        if len(self._serving) >= MAX_REQUESTS_IN_FLIGHT:
            busy = RpcError(INTERNAL_ERROR, f"more than {MAX_REQUESTS_IN_FLIGHT} requests in flight")
            self._answer(encode_error(request_id, busy))
            return
        task = asyncio.create_task(self._serve(request_id, method, params), name=f"{self._name} {method}")
        self._serving[request_id] = task
        task.add_done_callback(lambda done: self._served(request_id, done))

    async def _serve(self, request_id: RequestId, method: str, params: Raw) -> None:
        try:
            reply = await self._handler.request(method, params)
            if self._answer(encode_result(request_id, reply.result)) and reply.afterwards is not None:
                reply.afterwards()
        except RpcError as error:
            self._answer(encode_error(request_id, error))
        except asyncio.CancelledError:
            self._answer(encode_error(request_id, RpcError(REQUEST_CANCELLED, "the request was cancelled")))
            raise
        except Exception as error:  # top level of a served request: the peer gets an answer, the log the rest
            log.exception("%s: %s failed", self._name, method)
            kind = type(error).__name__
            self._answer(encode_error(request_id, RpcError(INTERNAL_ERROR, f"{method} failed: {kind}")))

    def _served(self, request_id: RequestId, task: asyncio.Task[None]) -> None:
        self._serving.pop(request_id, None)
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("%s: request %r ended badly", self._name, request_id, exc_info=error)

    def _answer(self, data: bytes) -> bool:
        """Write an answer; False when the peer has gone and nobody is left to hear it."""
        try:
            self._write(data)
        except ConnectionLost:
            return False
        return True

    def _cancel_at_peer(self, request_id: RequestId) -> None:
        self._canceled[request_id] = None
        if len(self._canceled) > _REMEMBERED_CANCELS:
            self._canceled.pop(next(iter(self._canceled)))
        with suppress(ConnectionLost):
            self.notify(CANCEL_REQUEST, _Cancel(request_id))

    async def _finish(self) -> None:
        self._lose_peer()
        closed = asyncio.ensure_future(self._stream.closed())
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(FINISH_SECONDS):
                    while self._serving and not closed.done():
                        work = (*self._serving.values(), closed)
                        await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
            await asyncio.wait((closed,))

    def _lose_peer(self) -> None:
        """Nothing more comes from the peer, so nobody waits for it any longer."""
        self._lost = ConnectionLost(f"{self._name} is gone")
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._lost)

    async def _end(self) -> None:
        self._lose_peer()
        serving = list(self._serving.values())
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


class _Cancel(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


def _is_answer(line: bytes | OverlongLine) -> bool:
    frame = decode_frame(line)
    return isinstance(frame, Fault) or isinstance(frame.method, UnsetType)


def _params(frame: Frame) -> Raw:
    return NO_PARAMS if isinstance(frame.params, UnsetType) else frame.params
