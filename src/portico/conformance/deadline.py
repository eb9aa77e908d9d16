"""The time that a case has: it does not count how long the program takes to start, which has a limit of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Deadline:
    def __init__(self, seconds: float, start_seconds: float) -> None:
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._timeout: asyncio.Timeout | None = None

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Limit what is inside. TimeoutError when it takes too long."""
        async with asyncio.timeout(self._seconds) as self._timeout:
            yield

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While a program starts, that has its own limit; afterwards the time begins anew."""
        self._allow(self._start_seconds)
        yield
        self._allow(self._seconds)

    def _allow(self, seconds: float) -> None:
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)
