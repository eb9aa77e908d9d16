"""A stream reader that can also pass bytes on as they arrive, without waking a task for each read."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Stop = TypeVar("Stop")

_PIPE_BYTES = 64 * 1024
"""What a pipe holds. asyncio would allocate four times as much for every read, which costs more than the read."""


class PipeReader(asyncio.StreamReader):
    """Keeps the bytes of a pipe until they are read, and holds the pipe back when there are too many of them."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)
        self._receive: Callable[[bytes], Any] | None = None
        self._stopped: asyncio.Future[Any] | None = None

    def set_transport(self, transport: asyncio.BaseTransport) -> None:
        super().set_transport(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _PIPE_BYTES

    @property
    def is_paused(self) -> bool:
        """Whether the pipe is held back until something is read."""
        return bool(self._paused)  # type: ignore[attr-defined]

    @property
    def has_unread(self) -> bool:
        return bool(self._buffer)  # type: ignore[attr-defined]

    async def pass_on(self, receive: Callable[[bytes], Stop | None]) -> Stop | None:
        """Call `receive` with bytes as they arrive, until it returns a value, which is returned.

        None at the end of the pipe, or at once if bytes wait to be read.
        """
        if self.has_unread or self.at_eof() or self.exception() is not None:
            return None
        stopped: asyncio.Future[Stop | None] = asyncio.get_running_loop().create_future()
        self._receive, self._stopped = receive, stopped
        try:
            return await stopped
        finally:
            self._receive = None

    def feed_data(self, data: Any) -> None:
        if self._receive is None:
            super().feed_data(data)
            return
        try:
            stop = self._receive(data)
        except BaseException:
            # The transport reports the error; the caller sees the end.
            self.feed_eof()
            raise
        if stop is not None:
            self._stop(stop)

    def feed_eof(self) -> None:
        super().feed_eof()
        self._stop(None)

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._stop(None)

    def _stop(self, result: object) -> None:
        self._receive = None
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(result)
