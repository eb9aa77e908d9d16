"""Asyncio tasks and threads that may outlive their caller."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

Waited = TypeVar("Waited", bound="asyncio.Future[Any]")
Result = TypeVar("Result")


def silence_failure(task: Waited) -> Waited:
    """Return the task, with the warning about an unretrieved exception disabled."""
    task.add_done_callback(_hear)
    return task


async def run_in_thread(
    work: Callable[[], Result], abandon: Callable[[], None], threads: Executor | None = None
) -> Result:
    """Run blocking work in a thread. Cancelling calls `abandon`, which must end the work, and waits for it."""
    working = silence_failure(asyncio.get_running_loop().run_in_executor(threads, work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        abandon()
        await asyncio.wait({working})
        raise


def _hear(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()
