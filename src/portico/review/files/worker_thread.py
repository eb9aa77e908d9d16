"""Blocking work in a thread that runs to its end when it is cancelled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

Work = Callable[[threading.Event], _T]
"""Work that may check an event, which is set when its result is no longer needed."""


async def run_to_end(work: Work[_T]) -> _T:
    """The outcome. Cancelling tells the work to stop, and waits until it has."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        raise
