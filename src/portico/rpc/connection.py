"""A JSON-RPC connection: requests, responses, cancellation and the order in which messages are handled.

The order it keeps (docs/concepts/ordering.md says why):

- notifications are handled one after another, to completion, in the order received: their
  handler is a plain function, so it cannot wait for the peer;
- a response wakes its caller only after every earlier notification was handled, and the caller
  runs up to its next wait before the next message is read;
- each request is handled in a task of its own, so a handler that waits for the peer never
  blocks the reader.

It knows no method names but that of the cancellation, no ACP, and no transport.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import Raw, UnsetType

from portico.rpc.frames import MalformedLine, Received, Tap, Transport, Wait, as_frames
from portico.rpc.messages import (
    ACP_CANCELLATION,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    Cancellation,
    ConnectionLost,
    ErrorObject,
    Fault,
    Message,
    RequestId,
    RpcError,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    make_fault,
    shorten,
)
from portico.rpc.streams import StreamClosed

log = logging.getLogger(__name__)

MAX_REQUESTS_IN_FLIGHT = 1024
FINISH_SECONDS = 5.0
"""Time that requests may take after the peer closed its end; then they are cancelled and answered with an error."""
_REMEMBERED_CANCELS = 1024


class RpcReply(msgspec.Struct, frozen=True):
    """A result, and a callback to run right after it was written."""

    result: Any
    afterwards: Callable[[], None] | None = None


class RpcHandler(Protocol):
    """The owner's side of a connection."""

    def notification(self, method: str, params: Raw) -> None:
        """Handle a notification. Runs to completion before the next message is handled."""
        ...

    async def request(self, method: str, params: Raw) -> RpcReply:
        """Answer a request, in a task of its own. RpcError becomes an error response."""
        ...

    def fault(self, fault: Fault) -> None:
        """Report a malformed message, which is ignored."""
        ...

    async def ready(self) -> None:
        """Called between reads; waiting here holds the peer back."""
        ...


class RpcConnection:
    def __init__(
        self,
        transport: Transport,
        handler: RpcHandler,
        *,
        name: str,
        tap: Tap | None = None,
        finishes: bool = False,
        cancellation: Cancellation = ACP_CANCELLATION,
    ) -> None:
        """With `finishes`, requests that the peer sent before it closed its end are still answered."""
        self._stream = as_frames(transport)
        if tap is not None:
            self._stream.tap = tap
        self._handler = handler
        self._name = name
        self._finishes = finishes
        self._cancellation = cancellation
        self._next_id = 0
        self._waiting: dict[RequestId, asyncio.Future[Raw]] = {}
        self._canceled: dict[RequestId, None] = {}
        self._serving: dict[RequestId, asyncio.Task[None]] = {}
        self._response_arrived = False
        self._lost: ConnectionLost | None = None

    async def run(self) -> None:
        """Read until the stream ends. Then no caller waits for an answer and no request is being served."""
        try:
            await self._stream.deliver(self._take_batch)
            for frame in self._stream.take_unfinished():
                # A response may have been cut off where it still makes sense, so it is not acted upon.
                if not (self._finishes and _is_response(frame)):
                    self._receive(frame)
            if self._finishes:
                await self._finish()
        finally:
            await self._end()

    async def request(self, method: str, params: Any) -> Raw:
        """Call the peer and wait for its result. RpcError for an error response."""
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

    def _write(self, line: bytes) -> None:
        try:
            self._stream.write(line)
        except StreamClosed as error:
            raise ConnectionLost(f"{self._name} is gone") from error

    def _take_batch(self, batch: list[Received]) -> Wait:
        return lambda: self._handle(batch)

    async def _handle(self, batch: list[Received]) -> None:
        for frame in batch:
            self._receive(frame)
            if self._response_arrived:
                self._response_arrived = False
                await asyncio.sleep(0)
        await self._handler.ready()

    def _receive(self, frame: Received) -> None:
        try:
            if isinstance(frame, MalformedLine):
                self._take_malformed(frame)
            else:
                self._take(frame)
        except Exception:  # top level of a received frame: no message of a peer ends the connection
            log.exception("%s: a message could not be handled", self._name)

    def _take_malformed(self, malformed: MalformedLine) -> None:
        self._handler.fault(malformed.fault)
        if not isinstance(malformed.request_id, UnsetType):
            self._answer(
                encode_error(malformed.request_id, RpcError(INVALID_REQUEST, malformed.fault.detail))
            )
        elif malformed.response is not None and malformed.response.id in self._waiting:
            self._take_response(malformed.response)

    def _take(self, message: Message) -> None:
        if message.method is None:
            self._take_response(message)
        elif isinstance(message.id, UnsetType):
            self._take_notification(message.method, message.params)
        else:
            self._take_request(message.id, message.method, message)

    def _take_notification(self, method: str, params: Raw) -> None:
        if method == self._cancellation.method:
            target = self._cancellation.request_id(params)
            if not isinstance(target, UnsetType) and (task := self._serving.get(target)) is not None:
                task.cancel()
            return
        self._handler.notification(method, params)

    def _take_response(self, message: Message) -> None:
        if isinstance(message.id, UnsetType):
            detail = "neither request, notification nor response"
            self._handler.fault(make_fault("not_a_message", detail, message.line))
            return
        answer = self._waiting.get(message.id)
        if answer is None or answer.done():
            given_up = answer is not None or self._canceled.pop(message.id, self) is not self
            if not given_up:
                detail = f"no request {shorten(message.id)} is open"
                self._handler.fault(make_fault("unknown_response", detail, message.line))
            return
        self._response_arrived = True
        if isinstance(message.error, ErrorObject):
            answer.set_exception(RpcError(message.error.code, message.error.message, message.error.data))
        elif isinstance(message.result, Raw):
            answer.set_result(message.result)

    def _take_request(self, request_id: RequestId, method: str, message: Message) -> None:
        if request_id in self._serving:
            detail = f"request {shorten(request_id)} is still being served"
            self._handler.fault(make_fault("duplicate_id", detail, message.line))
            return
        if len(self._serving) >= MAX_REQUESTS_IN_FLIGHT:
            busy = RpcError(INTERNAL_ERROR, f"more than {MAX_REQUESTS_IN_FLIGHT} requests in flight")
            self._answer(encode_error(request_id, busy))
            return
        task = asyncio.create_task(
            self._serve(request_id, method, message.params), name=f"{self._name} {method}"
        )
        self._serving[request_id] = task
        task.add_done_callback(lambda done: self._served(request_id, done))

    async def _serve(self, request_id: RequestId, method: str, params: Raw) -> None:
        try:
            reply = await self._handler.request(method, params)
            if self._answer(encode_result(request_id, reply.result)) and reply.afterwards is not None:
                reply.afterwards()
        except RpcError as error:
            self._answer(encode_error(request_id, error))
        except Exception as error:  # top level of a served request: the peer gets an answer, the log the rest
            log.exception("%s: %s failed", self._name, method)
            kind = type(error).__name__
            self._answer(encode_error(request_id, RpcError(INTERNAL_ERROR, f"{method} failed: {kind}")))

    def _served(self, request_id: RequestId, task: asyncio.Task[None]) -> None:
        self._serving.pop(request_id, None)
        if task.cancelled():
            # Answered here, since a task that is cancelled before it begins runs nothing.
            self._answer(encode_error(request_id, RpcError(REQUEST_CANCELLED, "the request was cancelled")))
        elif (error := task.exception()) is not None:
            log.error("%s: request %r ended badly", self._name, request_id, exc_info=error)

    def _answer(self, data: bytes) -> bool:
        """Write a response; False when the peer is gone."""
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
            self.notify(self._cancellation.method, self._cancellation.params(request_id))

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
        """Fail all open calls: no response can come any more."""
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


def _is_response(frame: Received) -> bool:
    return isinstance(frame, MalformedLine) or frame.method is None
