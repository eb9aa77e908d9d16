"""Lock between processes that does not block the event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from portico.domain.errors import SessionBusy, StoreFailed
from portico.files.locks import LockFile
from portico.files.private import make_private_folder

_LOCK_SECONDS = 60.0


@asynccontextmanager
async def process_lock(path: Path, *, waits: bool = True) -> AsyncIterator[None]:
    """Hold a lock between processes without holding up this one. SessionBusy if that takes too long, or at once."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (_LOCK_SECONDS if waits else 0.0)
    with ExitStack() as stack:
        try:
            make_private_folder(path.parent)
            file = stack.enter_context(LockFile(path))
        except OSError as error:
            raise cannot_write(path.parent, error) from error
        while not file.take(wait=False):
            if loop.time() >= deadline:
                raise SessionBusy(
                    "Another Portico process is using the review state of this workspace.",
                    suggestion="Wait for it to end, and try again.",
                )
            await asyncio.sleep(0.02)
        yield


def cannot_write(folder: Path, error: OSError) -> StoreFailed:
    """The error for a folder in which Portico cannot write what it has to."""
    return StoreFailed(
        f"Portico cannot write what it has to in {folder} ({error.strerror or error}).",
        suggestion="Free some space if the disk is full, or make the folder writable; then try again.",
    )
