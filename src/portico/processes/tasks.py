"""Helpers for asyncio tasks: run with a timeout or in a thread, cancel and wait, and own until closed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Waited = TypeVar("Waited", bound="asyncio.Future[Any]")


class Timer(Protocol):
    """The part of a clock that a timeout needs."""

    async def sleep(self, seconds: float) -> None: ...


async def run_with_timeout(clock: Timer, seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, or TimeoutError once `seconds` have passed; then `work` is cancelled."""
    task = asyncio.create_task(work, name="work under a deadline")
    alarm = asyncio.create_task(clock.sleep(seconds), name="deadline")
    try:
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TimeoutError
    finally:
        await cancel_and_wait(task, alarm)


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they are over; what they raise has been seen by someone else."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def silence_failure(task: Waited) -> Waited:
    """The same task, whose failure is not logged if no caller is left to see it."""
    task.add_done_callback(_retrieve)
    return task


async def run_in_thread(
    work: Callable[[], Result], abandon: Callable[[], None], threads: Executor | None = None
) -> Result:
    """Run blocking work. When cancelled, it calls `abandon`, which must make the thread end, and waits for it."""
    working = silence_failure(asyncio.get_running_loop().run_in_executor(threads, work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        abandon()
        await asyncio.wait({working})
        raise


def _retrieve(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()


class OwnedTasks:
    """Background tasks of one owner. What they raise is logged, since their callers may have left."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finishing: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Result], *, name: str) -> asyncio.Task[Result]:
        """Run work that `close` cancels."""
        return self.adopt(asyncio.create_task(work, name=name))

    def adopt(self, task: asyncio.Task[Result]) -> asyncio.Task[Result]:
        """Own a task that runs already."""
        self._tasks.add(task)
        task.add_done_callback(self._drop)
        return task

    async def run_detached(self, work: Coroutine[Any, Any, Result], *, name: str) -> Result:
        """The result of work that continues when its caller is cancelled."""
        return await asyncio.shield(self.start(work, name=name))

    async def run_to_completion(self, work: Coroutine[Any, Any, Result], *, name: str) -> Result:
        """The result of work that must not be left half done: `close` waits for it too."""
        task = self.start(work, name=name)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Finish what must be finished, and cancel the rest."""
        while self._tasks:
            await asyncio.gather(*self._finishing, return_exceptions=True)
            await cancel_and_wait(*self._tasks)

    def _drop(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("%s: %s", task.get_name(), error)
