"""Waiting for what another process does, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

LOOK_AGAIN = 0.005
LOOK_AGAIN_LATE = 0.05
PAGE_LOOK_AGAIN = 0.05
T = TypeVar("T")


def wait_until(happened: Callable[[], bool], what: str, *, seconds: float = 30) -> None:
    """Look until something has happened. Processes of others give no other sign.

    What takes longer is looked at less often: looking may cost the other process as much as its work.
    """
    deadline = time.monotonic() + seconds
    pause = LOOK_AGAIN
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(pause)
        pause = min(pause * 1.5, LOOK_AGAIN_LATE)


def wait_for_file(path: Path) -> None:
    wait_until(path.exists, f"{path.name}")


async def eventually(
    read: Callable[[], Awaitable[T]], holds: Callable[[T], bool], *, seconds: float = 20
) -> T:
    """Read a page again and again until it is as it should be; the value that was.

    A page that was acted on shows the result in a later frame, and what it says in between proves nothing.
    """
    deadline = time.monotonic() + seconds
    while not holds(found := await read()):
        assert time.monotonic() < deadline, f"still {found!r} after {seconds:g} s"
        await asyncio.sleep(PAGE_LOOK_AGAIN)
    return found
