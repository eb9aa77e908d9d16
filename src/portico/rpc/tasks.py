"""Helpers for asyncio tasks and threads that may outlive their waiter."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

Waited = TypeVar("Waited", bound="asyncio.Future[Any]")
Result = TypeVar("Result")


def silence_failure(task: Waited) -> Waited:
    """The same task, whose failure is nobody's news if nobody is left to hear it."""
    task.add_done_callback(_hear)
    return task


async def run_in_thread(
    work: Callable[[], Result], abandon: Callable[[], None], threads: Executor | None = None
) -> Result:
    """Do what blocks. Whoever cancels this calls `abandon`, which makes the thread end, and waits for it."""
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
