"""Watchdog of the server's files: restores the record and the token, and stops a server whose lock is gone.

People and programs find the server by its lock, its record and its token, all in the state folder. The last two
can be written again. A lock that was removed cannot: another server may take its place, and the log, which
stands beside it, is gone with it, so that nothing more would be kept.
"""

import asyncio
import logging
from collections.abc import Callable

from portico.config.server_files import ServerFiles, ServerRecord
from portico.domain.errors import StoreFailed
from portico.files.leases import FileLease

log = logging.getLogger("portico.server")

_LOOK_SECONDS = 2.0


async def keep_discoverable(
    files: ServerFiles, lease: FileLease, record: ServerRecord, token: str, stop: Callable[[], None]
) -> None:
    """Look now and then, until cancelled or until there is nothing left to look after."""
    while lease.is_in_place:
        try:
            files.put_back(record, token)
        except StoreFailed as failure:
            log.warning("not restored: %s", failure.message)
        await asyncio.sleep(_LOOK_SECONDS)
    log.warning("stopping, since the lock of this server was removed from %s", files.folder)
    stop()
