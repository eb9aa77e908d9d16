"""A reader of a pipe that can also pass bytes on as they arrive, without waking a task for each read."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Stop = TypeVar("Stop")

_PIPE_BYTES = 64 * 1024
"""Capacity of a pipe. asyncio would allocate four times as much for every read, which costs more than the read."""


class PipeReader:
    """Keeps the bytes of a pipe until they are read, and pauses the pipe while more than twice `limit` wait.

    It has the methods of `asyncio.StreamReader` that are used here. That class has no public way to tell whether
    bytes wait to be read, which passing them on depends on.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._receive: Callable[[bytes], Any] | None = None
        self._stopped: asyncio.Future[Any] | None = None
        self.is_paused = False
        """Whether the pipe is held back until something is read."""

    @property
    def has_unread(self) -> bool:
        return bool(self._buffer)

    def at_eof(self) -> bool:
        return self._ended and not self._buffer

    async def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, waiting for the first; all of them if it is negative. Empty at the end."""
        while size < 0 and not self._ended:
            self._resume()
            await self._arrival()
        while not self._buffer and not self._ended:
            await self._arrival()
        return self._take(len(self._buffer) if size < 0 else size)

    async def readline(self) -> bytes:
        """The next line with its newline; what is left at the end. ValueError for a line above the limit."""
        while (end := self._buffer.find(b"\n")) < 0 and not self._ended:
            if len(self._buffer) > self._limit:
                raise ValueError("The line is longer than the limit.")
            await self._arrival()
        return self._take(end + 1 if end >= 0 else len(self._buffer))

    async def pass_on(self, receive: Callable[[bytes], Stop | None]) -> Stop | None:
        """Call `receive` with bytes as they arrive, until it returns a value, which is returned.

        None at the end of the pipe, or at once if bytes wait to be read.
        """
        if self._buffer or self._ended:
            return None
        stopped: asyncio.Future[Stop | None] = asyncio.get_running_loop().create_future()
        self._receive, self._stopped = receive, stopped
        try:
            return await stopped
        finally:
            self._receive = None

    def set_transport(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport
        if hasattr(transport, "max_size"):
            transport.max_size = _PIPE_BYTES

    def feed_data(self, data: bytes) -> None:
        if self._receive is None:
            self._buffer += data
            self._wake()
            if len(self._buffer) > 2 * self._limit and self._transport is not None and not self.is_paused:
                self._transport.pause_reading()
                self.is_paused = True
            return
        try:
            stop = self._receive(data)
        except BaseException:
            # The transport reports the error; the caller sees the end.
            self.end()
            raise
        if stop is not None:
            self._stop(stop)

    def end(self, error: Exception | None = None) -> None:
        """The pipe has ended. After an error, every read raises it."""
        self._ended, self._error = True, error
        self._wake()
        self._stop(None)

    async def _arrival(self) -> None:
        """Wait until bytes arrive or the pipe ends."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take(self, size: int) -> bytes:
        if self._error is not None:
            raise self._error
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        if len(self._buffer) <= self._limit:
            self._resume()
        return data

    def _resume(self) -> None:
        if self.is_paused and self._transport is not None:
            self.is_paused = False
            self._transport.resume_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _stop(self, result: object) -> None:
        self._receive = None
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(result)


class PipeProtocol(asyncio.Protocol):
    """Feeds a pipe to its reader as it is read."""

    def __init__(self, reader: PipeReader) -> None:
        self._reader = reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._reader.set_transport(transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.end(exc)
