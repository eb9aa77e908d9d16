"""Byte streams between two peers, over pipes or in memory.

A transport moves bytes both ways and knows nothing of lines or messages.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

from portico.processes.pipe_reader import PipeReader

Stop = TypeVar("Stop")

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

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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


class _Channel:
    """One direction of a memory stream: a bounded buffer between a writer and a reader."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._changed = asyncio.Event()
        self.over = asyncio.Event()

    def put(self, data: bytes) -> None:
        if self._ended:
            raise StreamClosed
        self._chunks.append(data)
        self._size += len(data)
        self._changed.set()

    async def get(self) -> bytes:
        while not self._chunks and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        self._changed.set()
        return data

    @property
    def is_full(self) -> bool:
        return self._size > self._limit and not self._ended

    async def room(self) -> None:
        while self.is_full:
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        self._ended = True
        self._changed.set()
        self.over.set()


class MemoryStream:
    def __init__(self, incoming: _Channel, outgoing: _Channel) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def read(self) -> bytes:
        return await self._incoming.get()

    def write(self, data: bytes) -> None:
        self._outgoing.put(data)

    @property
    def is_full(self) -> bool:
        return self._outgoing.is_full

    async def drain(self) -> None:
        await self._outgoing.room()

    async def close(self) -> None:
        self._outgoing.end()
        self._incoming.end()

    async def closed(self) -> None:
        await self._outgoing.over.wait()


def memory_pair(limit: int = READ_SIZE) -> tuple[MemoryStream, MemoryStream]:
    """Two ends of one wire inside the process; each buffers about `limit` bytes."""
    there, back = _Channel(limit), _Channel(limit)
    return MemoryStream(back, there), MemoryStream(there, back)
