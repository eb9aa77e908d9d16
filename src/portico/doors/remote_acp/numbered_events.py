"""Messages of a chain for one event stream, numbered, so that a client that lost the stream can go on behind the last."""

import asyncio
from collections import deque

from portico.rpc.replay_buffer import ReplayGone

MOST_BYTES = 4 * 1024 * 1024


class NumberedEvents:
    """Keeps about `limit` bytes for clients that come back; what no client was sent yet is never dropped."""

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._kept: deque[str] = deque()
        self._dropped = 0
        self._size = 0
        self._written = 0
        self._readers = 0
        self._changed = asyncio.Event()

    @property
    def is_read(self) -> bool:
        return self._readers > 0

    async def put(self, text: str) -> None:
        """Add a message; waits while too much has not been sent to any client."""
        while self._size > self._limit and not self._drop_written():
            self._changed.clear()
            await self._changed.wait()
        self._kept.append(text)
        self._size += len(text)
        self._changed.set()

    def open(self, after: int | None) -> "NumberedReader":
        """A reader behind a number, or behind what was sent. ReplayGone when that is not kept any more."""
        start = self._written if after is None else after
        if not self._dropped <= start <= self._dropped + len(self._kept):
            raise ReplayGone(f"Messages {self._dropped + 1} to {self._dropped + len(self._kept)} are kept.")
        self._readers += 1
        return NumberedReader(self, start)

    async def next(self, after: int) -> str:
        while self._dropped + len(self._kept) <= after:
            self._changed.clear()
            await self._changed.wait()
        return self._kept[after - self._dropped]

    def sent(self, number: int) -> None:
        self._written = max(self._written, number)
        self._changed.set()

    def leave(self) -> None:
        self._readers -= 1

    def _drop_written(self) -> bool:
        """Forget the oldest message, if it was sent."""
        if not self._kept or self._written <= self._dropped:
            return False
        self._size -= len(self._kept.popleft())
        self._dropped += 1
        return True


class NumberedReader:
    def __init__(self, stream: NumberedEvents, at: int) -> None:
        self._stream = stream
        self._at = at

    async def next(self) -> tuple[int, str]:
        """The next message and its number; it counts as sent when the one after it is asked for."""
        self._stream.sent(self._at)
        text = await self._stream.next(self._at)
        self._at += 1
        return self._at, text

    def close(self) -> None:
        self._stream.leave()
