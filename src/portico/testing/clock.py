"""Clock that stands still until a test moves it; the in-memory twin of `sessions.ports.Clock`."""

import asyncio
import heapq
import itertools

NANOSECONDS = 1_000_000_000
# The first second of 2026, UTC.
START_MS = 1_767_225_600_000
# How often the loop goes round before the clock moves on: enough for a woken task to wake others in turn.
TURNS_OF_THE_LOOP = 32


class ManualClock:
    """Time is counted in whole nanoseconds, so that ten sleeps of 0.1 are one second."""

    def __init__(self, *, start_ms: int = START_MS) -> None:
        self._start_ms = start_ms
        self._now = 0
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()

    def now_ms(self) -> int:
        return self._start_ms + self._now // 1_000_000

    def monotonic(self) -> float:
        return self._now / NANOSECONDS

    @property
    def sleeping(self) -> int:
        """The number of tasks that sleep now."""
        return len(self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        sleeper = (self._now + round(seconds * NANOSECONDS), next(self._order), awake)
        heapq.heappush(self._sleepers, sleeper)
        self._arrived.set()
        try:
            await awake
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Let time pass. Sleepers wake in order, each at its own time, and may fall asleep again on the way."""
        await self._settle()
        until = self._now + round(seconds * NANOSECONDS)
        while self._sleepers and self._sleepers[0][0] <= until:
            self._now, _, awake = heapq.heappop(self._sleepers)
            if not awake.done():
                awake.set_result(None)
            await self._settle()
        self._now = until
        await self._settle()

    async def until_sleeping(self, count: int = 1) -> None:
        """Wait until at least this many are asleep. For code that reaches its sleep by way of a thread or a process."""
        while len(self._sleepers) < count:
            self._arrived.clear()
            await self._arrived.wait()

    async def _settle(self) -> None:
        for _ in range(TURNS_OF_THE_LOOP):
            await asyncio.sleep(0)
