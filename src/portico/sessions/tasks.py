"""Helpers for asyncio tasks: run with a timeout, cancel and wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from portico.sessions.ports import Clock

Result = TypeVar("Result")


async def run_with_timeout(clock: Clock, seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
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
