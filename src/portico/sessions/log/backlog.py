"""Limit on the unwritten events of all sessions together, which slows flooding agents down.

Each session has a bound of its own. A hundred sessions at theirs would be a hundred times as much, and
a disk that stands still for a moment keeps all of them waiting at once.
"""

import asyncio

MAX_BACKLOG = 4_000_000
"""Bytes, as they are in memory. What is beyond stays with the agents until the disk has kept up."""


class Backlog:
    def __init__(self, limit: int = MAX_BACKLOG) -> None:
        self._limit = limit
        self._size = 0
        self._room = asyncio.Event()
        self._room.set()

    async def room(self) -> None:
        """Wait until there is some."""
        while self._size > self._limit:
            await self._room.wait()

    def change(self, difference: int) -> None:
        self._size += difference
        if self._size > self._limit:
            self._room.clear()
        else:
            self._room.set()


class BacklogShare:
    """What one session has unwritten.

    What the store refused does not count for the others: nobody knows when it will be written, and
    their agents must not wait for that. The session's own bound still holds.
    """

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._refused = False
        self.size = 0

    def change(self, difference: int) -> None:
        self.size += difference
        if not self._refused:
            self._backlog.change(difference)

    def set_refused(self, refused: bool) -> None:
        if refused != self._refused:
            self._refused = refused
            self._backlog.change(-self.size if refused else self.size)

    async def room(self) -> None:
        """Wait until there is some in the backlog of all."""
        await self._backlog.room()
