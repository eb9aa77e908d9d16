"""Leases as rows of the database, each with an epoch that fences off former holders.

A lease expires when its process no longer renews it. The next holder gets the next epoch, and appends of the
former holder are refused by their epoch, however late they come. Only the clock of the database counts.

The port asks for leases without waiting, so they have a connection of their own, for queries of a few milliseconds.
"""

import hashlib
import logging
import threading
from typing import Any

import psycopg

from portico.store.postgres.connection import Connection
from portico.store.postgres.errors import database_failure, is_lost

_LONGEST_HOLDER = 4096
_CONNECT_SECONDS = 10

_TAKE = """
    INSERT INTO leases (name, owner, holder, epoch, expires_at)
    VALUES (%(name)s, %(owner)s, %(holder)s, 1, now() + make_interval(secs => %(seconds)s))
    ON CONFLICT (name) DO UPDATE SET
        owner = EXCLUDED.owner, holder = EXCLUDED.holder, epoch = leases.epoch + 1, expires_at = EXCLUDED.expires_at
    WHERE leases.owner = '' OR leases.expires_at < now()
    RETURNING epoch
"""
_RENEW = """
    UPDATE leases SET expires_at = now() + make_interval(secs => %s) WHERE owner = %s
"""
# The row stays, since its epoch must go on growing.
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

    def release(self) -> None:
        """May be called again."""
        self._leases.give_back(self)


class DatabaseLeases:
    """The leases of one process, renewed by a thread until they are released."""

    def __init__(self, url: str, owner: str, *, seconds: float) -> None:
        self._url = url
        self._owner = owner
        self._seconds = seconds
        self._held: dict[bytes, DatabaseLease] = {}
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._ended = threading.Event()
        self._renewal: threading.Thread | None = None

    def open(self) -> None:
        self._ended.clear()
        self._renewal = threading.Thread(target=self._renew_all, name="portico-leases", daemon=True)
        self._renewal.start()

    def close(self) -> None:
        """Release all leases. May be called again."""
        renewal, self._renewal = self._renewal, None
        if renewal is None:
            return
        self._ended.set()
        renewal.join()
        for lease in list(self._held.values()):
            try:
                lease.release()
            except Exception as error:  # noqa: BLE001 - the lease expires by itself
                log.info("a lease could not be released: %s", error)
        with self._lock:
            self._drop()

    def take(self, name: str, holder: str) -> DatabaseLease | None:
        """The named lease, or None while another holder has it."""
        key = lease_key(name)
        values = {
            "name": key,
            "owner": self._owner,
            "holder": holder.encode(errors="replace")[:_LONGEST_HOLDER],
            "seconds": self._seconds,
        }
        row = self._fetch(_TAKE, values)
        if row is None:
            return None
        self._held[key] = lease = DatabaseLease(self, key, row[0])
        return lease

    def holder(self, name: str) -> str | None:
        """The holder of the named lease; None if it is free."""
        row = self._fetch(_HOLDER, (lease_key(name),))
        return None if row is None else bytes(row[0]).decode(errors="replace")

    def give_back(self, lease: DatabaseLease) -> None:
        if self._held.get(lease.name) is lease:
            del self._held[lease.name]
            self._fetch(_RELEASE, (lease.name, self._owner, lease.epoch))

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
            if self._held:
                try:
                    self._fetch(_RENEW, (self._seconds, self._owner))
                except Exception as error:  # noqa: BLE001 - top level of a thread: it tries again
                    log.warning("the leases could not be renewed: %s", error)

    def _fetch(self, query: str, values: Any) -> tuple[Any, ...] | None:
        """The first row, if any. A lost connection is opened again once, since every query here may be repeated."""
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

    def _execute(self, query: str, values: Any) -> tuple[Any, ...] | None:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                application_name="portico leases",
            )
        cursor = self._connection.execute(query.encode(), values)
        return cursor.fetchone() if cursor.description else None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def lease_key(name: str) -> bytes:
    """The name of a lease in the database, where a text cannot hold every character."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()
