"""One at a time on the store of a workspace, between processes, without holding up the one that waits."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from portico.config.locking import lock, unlock
from portico.domain.errors import SessionBusy

_LOCK_SECONDS = 60.0


@asynccontextmanager
async def alone(path: Path) -> AsyncIterator[None]:
    """Hold a lock between processes without holding up this one."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LOCK_SECONDS
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not lock(descriptor, wait=False):
            if loop.time() > deadline:
                raise SessionBusy(
                    "Another Portico is at work on what is kept of this workspace.",
                    suggestion="Wait for it to end, and try again.",
                )
            await asyncio.sleep(0.02)
        try:
            yield
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)
