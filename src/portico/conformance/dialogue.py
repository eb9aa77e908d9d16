"""A recorded JSON-RPC dialogue with a program: every line both ways, unchanged.

Unlike `portico.rpc.connection`, it can send what no correct peer would, and keeps what no correct peer would send.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.conformance.subject import RunningSubject
from portico.domain import codecs
from portico.rpc.framing import LineSplitter, OverlongLine
from portico.rpc.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ConnectionLost,
    ErrorObject,
    Frame,
    RequestId,
    RpcError,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from portico.rpc.streams import ByteStream, StreamClosed

ServedMethod = Callable[[Raw], Awaitable[Any]]
"""Answers one request of the program. RpcError becomes an error response."""


ANY_METHOD = "*"
"""Serves the methods that have no handler of their own."""


class RecordedFrame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line as it went over the wire; `message` is what it says, unless it is no JSON-RPC message."""

    connection: int
    number: int
    direction: Literal["sent", "received"]
    line: bytes
    seconds: float
    message: Frame | None = None

    @property
    def text(self) -> str:
        return self.line.decode("utf-8", "replace")

    @property
    def is_notification(self) -> bool:
        return self.message is not None and self.message.method is not UNSET and self.message.id is UNSET

    def calls(self, method: str) -> bool:
        return self.message is not None and self.message.method == method

    def params(self, expected: Any) -> Any:
        """The parameters, decoded strictly. msgspec.ValidationError where they do not fit."""
        raw = self.message.params if self.message is not None else UNSET
        return codecs.decode_json(b"{}" if isinstance(raw, UnsetType) else raw, expected)


class RecordedAnswer(msgspec.Struct, frozen=True):
    """The response to a request: a result or an error, and the frame it came in."""

    frame: RecordedFrame
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET

    @property
    def failure(self) -> str:
        """The error as one line with its details, or an empty text."""
        if isinstance(self.error, UnsetType):
            return ""
        reason = RpcError(self.error.code, self.error.message, self.error.data).reason
        return f"error {self.error.code}: {reason}"


class Dialogue:
    """One connection with a program. `run` reads until the program ends it."""

    def __init__(self, stream: ByteStream, served: Mapping[str, ServedMethod], *, number: int = 1) -> None:
        self.frames: list[RecordedFrame] = []
        self.ended = asyncio.Event()
        self._stream = stream
        self._served = served
        self._number = number
        self._start = monotonic()
        self._next_id = 0
        self._waiting: dict[RequestId, tuple[str, asyncio.Future[RecordedAnswer]]] = {}
        self._watching: list[tuple[Callable[[RecordedFrame], bool], asyncio.Future[RecordedFrame]]] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The methods of the requests that the program has not answered."""
        return tuple(method for method, _ in self._waiting.values())

    @property
    def received(self) -> list[RecordedFrame]:
        return [frame for frame in self.frames if frame.direction == "received"]

    async def run(self) -> None:
        splitter = LineSplitter()
        try:
            while chunk := await self._read():
                for line in splitter.feed(chunk):
                    self._receive(line)
            if (rest := splitter.end()) is not None:
                self._receive(rest)
        finally:
            self._end()

    def start(
        self, method: str, params: Any, request_id: RequestId | UnsetType = UNSET
    ) -> "asyncio.Future[RecordedAnswer]":
        """Send a request; the future has its answer. ConnectionLost when the program ends first."""
        if isinstance(request_id, UnsetType):
            self._next_id += 1
            request_id = self._next_id
        answer = self.expect(request_id, method)
        self.write(encode_request(request_id, method, params))
        return answer

    def expect(self, request_id: RequestId, method: str) -> "asyncio.Future[RecordedAnswer]":
        """The answer to a request that is sent in another way."""
        answer: asyncio.Future[RecordedAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = method, answer
        return answer

    async def request(
        self, method: str, params: Any, request_id: RequestId | UnsetType = UNSET
    ) -> RecordedAnswer:
        return await self.start(method, params, request_id)

    def notify(self, method: str, params: Any) -> None:
        self.write(encode_notification(method, params))

    def write(self, line: bytes) -> None:
        """Send bytes as they are, one line of the record."""
        self._record("sent", line.removesuffix(b"\n"))
        self.write_part(line)

    def write_part(self, data: bytes) -> None:
        """Send a part of a line, unrecorded."""
        try:
            self._stream.write(data)
        except StreamClosed as error:
            raise ConnectionLost("the program is gone") from error

    def when(self, accepts: Callable[[RecordedFrame], bool]) -> "asyncio.Future[RecordedFrame]":
        """The next frame to be received that is accepted. ConnectionLost when the program ends first."""
        seen: asyncio.Future[RecordedFrame] = asyncio.get_running_loop().create_future()
        self._watching.append((accepts, seen))
        return seen

    def pause(self) -> None:
        """Read nothing more, so that the program has to wait with what it writes."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    async def close(self) -> None:
        """Close the program's input."""
        await self._stream.close()

    async def _read(self) -> bytes:
        await self._flowing.wait()
        return await self._stream.read()

    def _receive(self, line: bytes | OverlongLine) -> None:
        text = line if isinstance(line, bytes) else line.head + b"..." + line.tail
        frame = self._record("received", text.removesuffix(b"\r"))
        self._watching = [entry for entry in self._watching if not _notice(frame, *entry)]
        message = frame.message or _read_loosely(frame.line)
        if message is None:
            return
        if not isinstance(message.method, UnsetType):
            if not isinstance(message.id, UnsetType):
                task = asyncio.create_task(
                    self._serve(message.id, message.method, message.params), name=f"serve {message.method}"
                )
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)
        elif not isinstance(message.id, UnsetType) and message.id in self._waiting:
            _, answer = self._waiting.pop(message.id)
            if not answer.done():
                answer.set_result(RecordedAnswer(frame, message.result, message.error))

    async def _serve(self, request_id: RequestId, method: str, params: Raw | UnsetType) -> None:
        serve = self._served.get(method) or self._served.get(ANY_METHOD)
        try:
            if serve is None:
                raise RpcError(METHOD_NOT_FOUND, f"{method} is not offered")
            line = encode_result(
                request_id, await serve(Raw(b"{}") if isinstance(params, UnsetType) else params)
            )
        except RpcError as error:
            line = encode_error(request_id, error)
        except msgspec.ValidationError as error:
            line = encode_error(request_id, RpcError(INVALID_PARAMS, str(error)))
        with suppress(ConnectionLost):  # A program that is gone waits for no answer.
            self.write(line)

    def _record(self, direction: Literal["sent", "received"], line: bytes) -> RecordedFrame:
        message = read_message(line)
        seconds = round(monotonic() - self._start, 4)
        frame = RecordedFrame(self._number, len(self.frames) + 1, direction, line, seconds, message)
        self.frames.append(frame)
        return frame

    def _end(self) -> None:
        self.ended.set()
        lost = ConnectionLost("the program ended the connection")
        for future in [answer for _, answer in self._waiting.values()] + [seen for _, seen in self._watching]:
            if not future.done():
                future.set_exception(lost)
                future.exception()  # Retrieved here, since a check that has failed no longer waits for it.
        for task in self._serving:
            task.cancel()


def read_message(line: bytes) -> Frame | None:
    """The JSON-RPC message of a line; None if it is none."""
    try:
        line.decode()
        frame: Frame = codecs.decode_json(line, Frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_message = not (frame.method is UNSET and frame.result is UNSET and frame.error is UNSET)
    return frame if is_message else None


class _LooseResponse(msgspec.Struct, frozen=True):
    id: RequestId
    method: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET


def _read_loosely(line: bytes) -> Frame | None:
    """A response with an error of the wrong shape, so that its request does not wait forever."""
    try:
        loose = codecs.decode_json(line, _LooseResponse)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Frame(id=loose.id, result=loose.result) if loose.method is UNSET else None


def _notice(
    frame: RecordedFrame,
    accepts: Callable[[RecordedFrame], bool],
    seen: "asyncio.Future[RecordedFrame]",
) -> bool:
    """Whether a watcher is done: it is now if it accepts the frame."""
    if not seen.done() and accepts(frame):
        seen.set_result(frame)
    return seen.done()


async def end_connection(
    running: RunningSubject, dialogue: Dialogue, reading: "asyncio.Task[None]", *, kill: bool
) -> None:
    """Close a dialogue, unless its program is to be killed, and wait until the program and its reader are gone."""
    if not kill:
        await dialogue.close()
    await running.stop(kill=kill)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
