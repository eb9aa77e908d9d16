"""Limit on the unwritten events of all sessions together, which slows flooding agents down.

Each session has a limit of its own, but a hundred sessions could reach theirs at once when the disk is slow.
"""

import asyncio

MAX_BACKLOG = 4_000_000
"""Bytes in memory. Agents have to wait beyond that."""


class Backlog:
    def __init__(self, limit: int = MAX_BACKLOG) -> None:
        self._limit = limit
        self._size = 0
        self._room = asyncio.Event()
        self._room.set()

    async def room(self) -> None:
        """Wait until there is room."""
        while self._size > self._limit:
            await self._room.wait()

    def change(self, difference: int) -> None:
        was_full = self._size > self._limit
        self._size += difference
        is_full = self._size > self._limit
        if is_full and not was_full:
            self._room.clear()
        elif was_full and not is_full:
            self._room.set()


class BacklogShare:
    """Unwritten events of one session.

    Events that the store refused do not count for the others, whose agents must not wait for them. The session's own
    limit still applies.
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
        """Wait until there is room in the backlog of all sessions."""
        await self._backlog.room()
