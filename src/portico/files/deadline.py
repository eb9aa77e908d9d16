"""Runs blocking file access in a thread with a deadline.

A network mount or a FUSE file system may never answer, not even to a stat. The thread that asked it cannot be
stopped; it is left behind, and neither the loop nor the end of the process waits for it.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from portico.domain.errors import StoreFailed

Result = TypeVar("Result")

DEADLINE_SECONDS = 10.0
_MOST_THREADS = 256
_threads = threading.BoundedSemaphore(_MOST_THREADS)


async def within_deadline(work: Callable[[], Result], *, seconds: float = DEADLINE_SECONDS) -> Result:
    """Run the work in a thread. StoreFailed if it takes longer, or too much other work hangs already."""
    if not _threads.acquire(blocking=False):
        raise _unanswered(f"{_MOST_THREADS} other requests to it are waiting")
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()
    try:
        # A thread of its own: the end of the process waits for those of a pool.
        threading.Thread(target=_run, args=(work, loop, done), name="file access", daemon=True).start()
    except RuntimeError as error:
        _threads.release()
        raise _unanswered("no thread could be started") from error
    try:
        async with asyncio.timeout(seconds):
            return await done
    except TimeoutError as error:
        if done.done() and not done.cancelled():  # The work itself timed out.
            raise
        raise _unanswered(f"it took longer than {seconds:g} s") from error


def _run(work: Callable[[], Result], loop: asyncio.AbstractEventLoop, done: "asyncio.Future[Result]") -> None:
    settle: Callable[[], None]
    try:
        settle = partial(done.set_result, work())
    except BaseException as error:  # noqa: BLE001 - it is raised where the work is awaited
        settle = partial(done.set_exception, error)
    finally:
        _threads.release()
    try:
        loop.call_soon_threadsafe(lambda: None if done.done() else settle())
    except RuntimeError:
        return  # The loop is closed: nothing waits any more.


def _unanswered(why: str) -> StoreFailed:
    return StoreFailed(
        f"The file system did not answer: {why}.",
        suggestion="See whether the folder is on a network drive that cannot be reached.",
    )
