"""A request that is being answered: it can be cancelled at any time, even before its work has begun."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """Whoever asked does not want the answer any more."""


class Operation:
    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        self.ended = False

    def cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()

    async def run(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Do the work. Cancelled if it was cancelled from here; the end of the chain passes through."""
        task = asyncio.create_task(work, name=name)
        self._task = task
        if self._cancelled:
            task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if self._cancelled and task.cancelled():
                raise Cancelled from None
            raise
        finally:
            self.ended = True
