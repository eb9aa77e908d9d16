"""Byte streams between two peers, over pipes or in memory.

A transport moves bytes both ways and knows nothing of lines or messages.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from portico.processes.pipe_reader import PipeReader

Stop = TypeVar("Stop")
Item = TypeVar("Item")

READ_SIZE = 256 * 1024


class StreamClosed(Exception):
    """The other end is gone; nothing more can be written."""


class ByteStream(Protocol):
    async def read(self) -> bytes:
        """The next bytes, as many as have arrived; empty at the end."""
        ...

    def write(self, data: bytes) -> None:
        """Queue bytes in order. StreamClosed when the other end is gone."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether the other end has not kept up, so that `drain` would wait."""
        ...

    async def drain(self) -> None:
        """Wait until the other end has kept up."""
        ...

    async def close(self) -> None:
        """End the stream to the other end and release the transport."""
        ...

    async def closed(self) -> None:
        """Wait until nothing that is written can arrive any more."""
        ...


class PipeStream:
    """A stream over a pair of asyncio pipes, as a child process or standard input and output has."""

    def __init__(self, reader: asyncio.StreamReader | PipeReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._transport = writer.transport

    async def read(self) -> bytes:
        try:
            return await self._reader.read(READ_SIZE)
        except (ConnectionError, BrokenPipeError):
            return b""

    async def pass_on(self, receive: Callable[[bytes], Stop | None]) -> Stop | None:
        """Call `receive` with bytes as they arrive, until it returns a value, which is returned.

        None at the end of the pipe, or at once if bytes wait to be read or the reader cannot do this.
        """
        return await self._reader.pass_on(receive) if isinstance(self._reader, PipeReader) else None

    def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise StreamClosed
        self._transport.write(data)

    @property
    def is_full(self) -> bool:
        size = self._transport.get_write_buffer_size()
        return size > 0 and size > self._transport.get_write_buffer_limits()[1]

    async def drain(self) -> None:
        try:
            await self._writer.drain()
        except (ConnectionError, BrokenPipeError) as error:
            raise StreamClosed from error

    async def close(self) -> None:
        self._writer.close()
        await self.closed()

    async def closed(self) -> None:
        # Shielded: cancelling this must not cancel the future of the transport.
        await asyncio.shield(self._closed())

    async def _closed(self) -> None:
        try:
            await self._writer.wait_closed()
        except (ConnectionError, BrokenPipeError):
            return


class MemoryQueue(Generic[Item]):
    """One direction of a pair of ends inside the process: a buffer bounded by the bytes of its items."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[Item] = []
        self._size = 0
        self._changed = asyncio.Event()
        self.ended = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._size > self._limit and not self.ended.is_set()

    def put(self, item: Item, size: int) -> None:
        if self.ended.is_set():
            raise StreamClosed
        if not self._items:  # Later ones are taken together with the first.
            self._changed.set()
        self._items.append(item)
        self._size += size

    async def get(self) -> list[Item]:
        """All items, waiting for the first; none at the end."""
        while not self._items and not self.ended.is_set():
            self._changed.clear()
            await self._changed.wait()
        items, self._items = self._items, []
        self._size = 0
        self._changed.set()
        return items

    async def room(self) -> None:
        while self.is_full:
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        self.ended.set()
        self._changed.set()


class MemoryEnd(Generic[Item]):
    """One end of a pair inside the process."""

    def __init__(self, incoming: MemoryQueue[Item], outgoing: MemoryQueue[Item]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def is_full(self) -> bool:
        return self._outgoing.is_full

    async def drain(self) -> None:
        await self._outgoing.room()

    async def close(self) -> None:
        self._outgoing.end()
        self._incoming.end()

    async def closed(self) -> None:
        await self._outgoing.ended.wait()


class MemoryStream(MemoryEnd[bytes]):
    """One end of a pair of byte streams."""

    async def read(self) -> bytes:
        return b"".join(await self._incoming.get())

    def write(self, data: bytes) -> None:
        self._outgoing.put(data, len(data))


def memory_pair(limit: int = READ_SIZE) -> tuple[MemoryStream, MemoryStream]:
    """Two connected ends inside the process; each buffers about `limit` bytes."""
    there: MemoryQueue[bytes] = MemoryQueue(limit)
    back: MemoryQueue[bytes] = MemoryQueue(limit)
    return MemoryStream(back, there), MemoryStream(there, back)
