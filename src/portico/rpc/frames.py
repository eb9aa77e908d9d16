"""Streams of JSON-RPC frames: over bytes, where lines are split and decoded, and in memory, where they are not.

Every message that enters the process is decoded here once; from then on it travels as a `Message`. Limits on the
length and the depth of a message are checked at the same place.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from portico.rpc.framing import LineSplitter, OverlongLine
from portico.rpc.messages import Fault, Message, RequestId, decode_frame, failure, from_frame
from portico.rpc.streams import READ_SIZE, ByteStream, MemoryEnd, MemoryQueue, PipeStream

Direction = Literal["sent", "received"]
Tap = Callable[[Direction, bytes], None]


class MalformedLine(msgspec.Struct, frozen=True):
    """A line that is not a message, and what its sender or a local caller is owed for it."""

    fault: Fault
    line: bytes
    request_id: RequestId | UnsetType = UNSET
    """The id to refuse if the line is a request; UNSET otherwise."""
    response: Message | None = None
    """An error for the local caller if the line is a response."""


Received = Message | MalformedLine
Wait = Callable[[], Awaitable[None]]
Take = Callable[[list[Received]], Wait | None]
"""Handles a batch of frames. No more are delivered until the returned wait is over."""


def read_line(line: bytes | OverlongLine) -> Received:
    """Decode one line, given without its newline."""
    frame = decode_frame(line)
    if isinstance(line, bytes) and not isinstance(frame, Fault):
        return from_frame(frame, line)
    assert isinstance(frame, Fault)
    from portico.rpc.malformed import malformed_request_id, malformed_response_error, malformed_response_id

    kept = line if isinstance(line, bytes) else b""
    request_id, answered = malformed_request_id(line), malformed_response_id(line)
    if isinstance(answered, UnsetType):
        return MalformedLine(frame, kept, request_id)
    return MalformedLine(frame, kept, response=failure(answered, malformed_response_error(frame)))


class FrameStream(ABC):
    """Frames to and from a peer. A tap, if set, sees every line both ways."""

    def __init__(self) -> None:
        self.tap: Tap | None = None
        self._unfinished: Received | None = None

    async def receive(self) -> list[Received]:
        """All frames that have arrived, waiting for the first; empty at the end of the stream."""
        batch = await self._next_batch()
        self._show(batch)
        return batch

    def take_unfinished(self) -> list[Received]:
        """After the end: the last line, if no newline followed it. It may have been cut off."""
        unfinished, self._unfinished = self._unfinished, None
        return [] if unfinished is None else [unfinished]

    async def deliver(self, take: Take, *, abandon_at_end: bool = False) -> None:
        """Pass all frames to `take`, in order, until the stream ends.

        With `abandon_at_end`, the end of the stream is noticed during a wait, which is then abandoned.
        """
        batch = await self.receive()
        while batch:
            wait = take(batch)
            if wait is None:
                wait = await self._pass_on(take)
            if wait is None:
                batch = await self.receive()
            elif abandon_at_end:
                batch = await self._read_ahead(wait)
            else:
                await wait()
                batch = await self.receive()

    @abstractmethod
    def send(self, message: Message) -> None:
        """Queue a message in order. StreamClosed when the peer is gone."""

    @abstractmethod
    def write(self, line: bytes) -> None:
        """Queue an encoded message with its newline, like `send`."""

    def hold(self) -> None:  # noqa: B027 - a transport without calls to save has nothing to collect
        """Collect what is sent until `release`, to write it at once."""

    def release(self) -> None:  # noqa: B027
        """Write what was collected since `hold`."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether the peer has not kept up, so that `drain` would wait."""

    @abstractmethod
    async def drain(self) -> None:
        """Wait until the peer has kept up. StreamClosed when it is gone."""

    @abstractmethod
    async def close(self) -> None:
        """End the stream to the peer and release the transport."""

    @abstractmethod
    async def closed(self) -> None:
        """Wait until nothing that is sent can arrive any more."""

    @abstractmethod
    async def _next_batch(self) -> list[Received]:
        """The frames that have arrived, waiting for the first; none at the end of the stream."""

    async def _pass_on(self, take: Take) -> Wait | None:
        """Deliver frames without waking a task, if the transport can, until `take` wants to wait."""
        return None

    async def _read_ahead(self, wait: Wait) -> list[Received]:
        waiting = asyncio.ensure_future(wait())
        try:
            batch = await self.receive()
            if batch:
                await waiting
            return batch
        finally:
            waiting.cancel()

    def _show(self, batch: list[Received]) -> None:
        if self.tap is not None:
            for frame in batch:
                if line := frame.line.removesuffix(b"\n"):
                    self.tap("received", line)


class FrameSplitter(Protocol):
    """Cuts bytes that arrive into frames."""

    def feed(self, chunk: bytes) -> list[bytes | OverlongLine]:
        """The frames that the bytes complete."""
        ...

    def end(self) -> bytes | OverlongLine | None:
        """The last frame, if the stream ended before it did."""
        ...


class LineFrames(FrameStream):
    """Frames over a byte stream, one per line."""

    def __init__(self, stream: ByteStream, splitter: FrameSplitter | None = None) -> None:
        super().__init__()
        self._stream = stream
        self._splitter = splitter or LineSplitter()
        self._held: list[bytes] | None = None

    def send(self, message: Message) -> None:
        self.write(message.line)

    def write(self, line: bytes) -> None:
        if self.tap is not None:
            self.tap("sent", line)
        data = self._enclose(line)
        if self._held is not None:
            self._held.append(data)
        else:
            self._stream.write(data)

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        held, self._held = self._held, None
        if held:
            self._stream.write(held[0] if len(held) == 1 else b"".join(held))

    @property
    def is_full(self) -> bool:
        return self._stream.is_full

    async def drain(self) -> None:
        await self._stream.drain()

    async def close(self) -> None:
        await self._stream.close()

    async def closed(self) -> None:
        await self._stream.closed()

    def _enclose(self, line: bytes) -> bytes:
        """A line as it stands on the wire."""
        return line

    async def _next_batch(self) -> list[Received]:
        while chunk := await self._stream.read():
            if batch := self._split(chunk):
                return batch
        if (rest := self._splitter.end()) is not None:
            self._unfinished = read_line(rest)
            self._show([self._unfinished])
        return []

    async def _pass_on(self, take: Take) -> Wait | None:
        if not isinstance(self._stream, PipeStream):
            return None

        def receive(chunk: bytes) -> Wait | None:
            batch = self._split(chunk)
            if not batch:
                return None
            self._show(batch)
            return take(batch)

        return await self._stream.pass_on(receive)

    def _split(self, chunk: bytes) -> list[Received]:
        lines = self._splitter.feed(chunk)
        return [read_line(line) for line in lines if not isinstance(line, bytes) or line.strip()]


class MemoryFrames(MemoryEnd[Received], FrameStream):
    """One end of a frame pair: a message that is sent arrives as the same object."""

    def __init__(self, incoming: MemoryQueue[Received], outgoing: MemoryQueue[Received]) -> None:
        FrameStream.__init__(self)
        MemoryEnd.__init__(self, incoming, outgoing)

    def send(self, message: Message) -> None:
        if self.tap is not None:
            self.tap("sent", message.line)
        self._outgoing.put(message, len(message.line))

    def write(self, line: bytes) -> None:
        """Queue an encoded message; it is decoded here, with the checks that a line from outside gets."""
        if self.tap is not None:
            self.tap("sent", line)
        for part in LineSplitter().feed(line):
            frame = read_line(part)
            self._outgoing.put(frame, len(frame.line))

    async def _next_batch(self) -> list[Received]:
        return await self._incoming.get()


Transport = ByteStream | FrameStream


def frame_pair(limit: int = READ_SIZE) -> tuple[MemoryFrames, MemoryFrames]:
    """Two connected ends inside the process; each buffers messages of about `limit` bytes."""
    there: MemoryQueue[Received] = MemoryQueue(limit)
    back: MemoryQueue[Received] = MemoryQueue(limit)
    return MemoryFrames(back, there), MemoryFrames(there, back)


def as_frames(transport: Transport) -> FrameStream:
    """The frames of a transport; bytes are split into lines."""
    return transport if isinstance(transport, FrameStream) else LineFrames(transport)
