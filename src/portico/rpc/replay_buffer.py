"""Messages that were sent and may have to be sent again, numbered from 1, and bounded in size."""

import asyncio
from collections import deque

MOST_BYTES = 4 * 1024 * 1024


class ReplayGone(Exception):
    """The messages that are asked for are no longer, or not yet, here."""


class ReplayBuffer:
    """`room` waits while too much is unacknowledged, so that nothing ever has to be thrown away."""

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._kept: deque[str] = deque()
        self._size = 0
        self._acknowledged = 0
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """The number of the last message."""
        return self._acknowledged + len(self._kept)

    @property
    def first(self) -> int:
        """Number of acknowledged messages: the next one is the first that is kept."""
        return self._acknowledged

    @property
    def is_full(self) -> bool:
        return self._size > self._limit

    def append(self, text: str) -> None:
        self._kept.append(text)
        self._size += len(text)
        self._changed.set()

    def acknowledge(self, number: int) -> None:
        """Forget what the other side has received. ReplayGone for a number that is not between those that are kept."""
        if not self._acknowledged <= number <= self.last:
            raise ReplayGone(f"Messages {self._acknowledged + 1} to {self.last} are kept.")
        while self._acknowledged < number:
            self._size -= len(self._kept.popleft())
            self._acknowledged += 1
        self._changed.set()

    async def next(self, after: int) -> str:
        """The message that follows a number, waiting for it."""
        while self.last <= after:
            self._changed.clear()
            await self._changed.wait()
        return self._kept[after - self._acknowledged]

    async def room(self) -> None:
        while self.is_full:
            self._changed.clear()
            await self._changed.wait()
