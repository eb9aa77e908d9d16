"""Connection to the database that is opened again after it was lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

from portico.domain.errors import StoreFailed
from portico.store.postgres.errors import database_failure, is_conflict, is_lost

_T = TypeVar("_T")
Connection = psycopg.AsyncConnection[tuple[Any, ...]]
Work = Callable[[Connection], Awaitable[_T]]

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_MOST_CONFLICTS = 20
_CONNECT_SECONDS = 10

log = logging.getLogger("portico.store")


class DatabaseConnection:
    """One connection, used by one piece of work at a time.

    Each piece runs in a transaction. After a conflict with another transaction, or when the connection was lost, it
    runs again, for up to `patience` seconds; then StoreFailed is raised. The piece gets to know nothing of a loss, so
    it must find out by itself whether its last run was committed.
    """

    def __init__(self, url: str, *, patience: float, snapshot: bool = False) -> None:
        self._url = url
        self._patience = patience
        self._snapshot = snapshot
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._closed = True

    async def open(self) -> None:
        """Connect, without waiting for a server that does not answer."""
        self._closed = False
        try:
            self._connection = await self._connect()
        except psycopg.Error as error:
            raise database_failure(error) from error

    async def close(self) -> None:
        """May be called again."""
        self._closed = True
        async with self._lock:
            await self._drop()

    async def run(self, work: Work[_T]) -> _T:
        """Run work in a transaction of its own."""
        self.require_open()
        async with self._lock:
            return await self._run(work)

    def require_open(self) -> None:
        if self._closed:
            raise StoreFailed("The log is not open.")

    async def _run(self, work: Work[_T]) -> _T:
        deadline = asyncio.get_running_loop().time() + self._patience
        pause, conflicts = _FIRST_PAUSE, 0
        while True:
            try:
                if self._connection is None:
                    self._connection = await self._connect()
                async with self._connection.transaction():
                    return await work(self._connection)
            except psycopg.Error as error:
                conflicts += is_conflict(error)
                if is_lost(error) or (self._connection is not None and self._connection.closed):
                    await self._drop()
                elif not is_conflict(error) or conflicts > _MOST_CONFLICTS:
                    raise database_failure(error) from error
                if self._closed or asyncio.get_running_loop().time() + pause > deadline:
                    raise database_failure(error) from error
                log.info("the database is tried again in %.2f s: %s", pause, error)
            except asyncio.CancelledError:
                # The connection may be in the middle of an answer.
                await self._drop()
                raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect(self) -> Connection:
        connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="portico"
        )
        if self._snapshot:
            await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
