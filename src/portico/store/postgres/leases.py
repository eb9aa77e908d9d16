"""Leases as rows of the database, each with an epoch that fences off former holders.

A lease expires when its process no longer renews it. The next holder gets the next epoch, and appends of the
former holder are refused by their epoch, however late they come. Only the clock of the database counts.

Leases have a connection and a thread of their own, so that the event loop never waits for a query.
"""

import asyncio
import hashlib
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg

from portico.domain.errors import StoreFailed
from portico.sessions.leases import runs_session
from portico.store.postgres.connection import Connection
from portico.store.postgres.errors import database_failure, is_lost

_LONGEST_HOLDER = 4096
_CONNECT_SECONDS = 10

_TAKE = """
    INSERT INTO leases (name, owner, holder, epoch, expires_at, node)
    VALUES (%(name)s, %(owner)s, %(holder)s, 1, now() + make_interval(secs => %(seconds)s), %(node)s)
    ON CONFLICT (name) DO UPDATE SET
        owner = EXCLUDED.owner, holder = EXCLUDED.holder, epoch = leases.epoch + 1, expires_at = EXCLUDED.expires_at,
        node = CASE WHEN %(runs_session)s THEN EXCLUDED.node ELSE leases.node END
    WHERE leases.owner = '' OR leases.expires_at < now()
    RETURNING epoch
"""
_RENEW = """
    UPDATE leases SET expires_at = now() + make_interval(secs => %s) WHERE owner = %s RETURNING name, epoch
"""
# The row stays, since its epoch must go on growing, and tells on which node a session was last.
_RELEASE = "UPDATE leases SET owner = '', holder = '' WHERE name = %s AND owner = %s AND epoch = %s"
_HOLDER = "SELECT holder FROM leases WHERE name = %s AND owner <> '' AND expires_at >= now()"
_EPOCHS = "SELECT name, owner, epoch FROM leases WHERE name = ANY(%s) ORDER BY name FOR SHARE"

log = logging.getLogger("portico.store")


class DatabaseLease:
    """A lease that this process took. `epoch` tells it from those of earlier and later holders."""

    def __init__(self, leases: "DatabaseLeases", name: bytes, epoch: int) -> None:
        self._leases = leases
        self.name = name
        self.epoch = epoch
        self.is_lost = False
        """Whether it was seen, when it should be renewed, that another process has it."""

    def release(self) -> None:
        """May be called again."""
        self._leases.give_back(self)


class DatabaseLeases:
    """The leases of one process, renewed by a thread until they are released. `node` is its name, if it is a node."""

    def __init__(self, url: str, owner: str, *, seconds: float, node: str = "") -> None:
        self._url = url
        self._owner = owner
        self._seconds = seconds
        self._node = node
        self._held: dict[bytes, DatabaseLease] = {}
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._ended = threading.Event()
        self._renewal: threading.Thread | None = None
        self._queries: ThreadPoolExecutor | None = None

    def open(self) -> None:
        self._ended.clear()
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="portico-lease-queries")
        self._renewal = threading.Thread(target=self._renew_all, name="portico-leases", daemon=True)
        self._renewal.start()

    async def close(self) -> None:
        """Release all leases. May be called again."""
        renewal, self._renewal = self._renewal, None
        queries, self._queries = self._queries, None
        if renewal is None or queries is None:
            return
        self._ended.set()
        await asyncio.to_thread(self._close, renewal, queries)

    async def take(self, name: str, holder: str) -> DatabaseLease | None:
        """The named lease, or None while another holder has it."""
        taking = self._submit(partial(self._take, name, holder))
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            # It may be taken all the same, and nothing would ever release it.
            taking.add_done_callback(_release_taken)
            raise

    async def holder(self, name: str) -> str | None:
        """The holder of the named lease; None if it is free."""
        rows = await asyncio.wrap_future(self._submit(partial(self._fetch, _HOLDER, (lease_key(name),))))
        return bytes(rows[0][0]).decode(errors="replace") if rows else None

    def give_back(self, lease: DatabaseLease) -> None:
        """Release a lease, after the queries that wait already. If that fails, it expires."""
        if self._held.get(lease.name) is not lease:
            return
        del self._held[lease.name]
        if self._queries is not None:  # Else it was released by `close`.
            self._release(lease, self._queries)

    def _submit(self, query: "partial[Any]") -> "Future[Any]":
        if self._queries is None:
            raise StoreFailed("The log is not open.")
        return self._queries.submit(query)

    def _close(self, renewal: threading.Thread, queries: ThreadPoolExecutor) -> None:
        renewal.join()
        for lease in list(self._held.values()):
            del self._held[lease.name]
            self._release(lease, queries)
        queries.shutdown(wait=True)
        with self._lock:
            self._drop()

    def _release(self, lease: DatabaseLease, queries: ThreadPoolExecutor) -> None:
        release = partial(self._fetch, _RELEASE, (lease.name, self._owner, lease.epoch))
        queries.submit(release).add_done_callback(_log_failure)

    def _take(self, name: str, holder: str) -> DatabaseLease | None:
        key = lease_key(name)
        values = {
            "name": key,
            "owner": self._owner,
            "holder": holder.encode(errors="replace")[:_LONGEST_HOLDER],
            "seconds": self._seconds,
            "node": self._node,
            "runs_session": runs_session(holder),
        }
        rows = self._fetch(_TAKE, values)
        if not rows:
            return None
        self._held[key] = lease = DatabaseLease(self, key, rows[0][0])
        return lease

    async def find_lost(self, connection: Connection, names: list[bytes]) -> frozenset[bytes]:
        """Those of the named leases that this process took and another one has taken since.

        They stay locked until the end of the transaction: a lease is taken over before or after it, never meanwhile.
        """
        held = {name: lease.epoch for name in names if (lease := self._held.get(name)) is not None}
        if not held:
            return frozenset()
        cursor = await connection.execute(_EPOCHS, (list(held),))
        valid = {bytes(name): epoch for name, owner, epoch in await cursor.fetchall() if owner == self._owner}
        return frozenset(name for name, epoch in held.items() if valid.get(name) != epoch)

    def _renew_all(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            held = dict(self._held)
            if held:
                try:
                    renewed = {
                        bytes(name): epoch
                        for name, epoch in self._fetch(_RENEW, (self._seconds, self._owner))
                    }
                except Exception as error:  # noqa: BLE001 - top level of a thread: it tries again
                    log.warning("the leases could not be renewed: %s", error)
                    continue
                for name, lease in held.items():
                    if renewed.get(name) != lease.epoch and self._held.get(name) is lease:
                        lease.is_lost = True

    def _fetch(self, query: str, values: Any) -> Sequence[tuple[Any, ...]]:
        """All rows. A lost connection is opened again once, since every query here may be repeated."""
        with self._lock:
            try:
                return self._execute(query, values)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise database_failure(error) from error
                self._drop()
            try:
                return self._execute(query, values)
            except psycopg.Error as error:
                raise database_failure(error) from error

    def _execute(self, query: str, values: Any) -> Sequence[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                application_name="portico leases",
            )
        cursor = self._connection.execute(query.encode(), values)
        return cursor.fetchall() if cursor.description else ()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _release_taken(taking: "Future[DatabaseLease | None]") -> None:
    if not taking.cancelled() and taking.exception() is None and (lease := taking.result()) is not None:
        lease.release()


def _log_failure(release: "Future[Any]") -> None:
    if (error := release.exception()) is not None:
        log.info("a lease could not be released: %s", error)


def lease_key(name: str) -> bytes:
    """The name of a lease in the database, where a text cannot hold every character."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()
