"""Group commit: appends that wait at the same time share one transaction, each with its own outcome.

When the connection is lost during a commit, it is unknown whether that took place. The chained checksums tell: a batch
whose last event has the checksum that it would get is in the log.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

import psycopg

from portico.domain.errors import StoreFailed
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.sessions.leases import session_lease_name
from portico.store.batches import advance
from portico.store.checksums import INITIAL_CHECKSUM, next_checksum
from portico.store.postgres import queries
from portico.store.postgres.connection import Connection, DatabaseConnection
from portico.store.postgres.leases import DatabaseLeases, lease_key
from portico.store.postgres.migrations import require_known_schema
from portico.store.postgres.queries import StoredSession
from portico.store.rows import EventRow, event_row

_Outcome = StoreFailed | None


class _WaitingBatch:
    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class DatabaseCommits:
    def __init__(self, connection: DatabaseConnection, leases: DatabaseLeases, shard: int) -> None:
        self._connection = connection
        self._leases = leases
        self._shard = shard
        self._waiting: deque[_WaitingBatch] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def append(self, events: Sequence[Event]) -> None:
        """Write the batch together with others that wait; returns or raises its outcome.

        If the caller is cancelled before its batch is being written, the batch is dropped.
        """
        self._connection.require_open()
        waiting = _WaitingBatch(events)
        self._waiting.append(waiting)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all(), name="writing the log")
        await waiting.outcome

    async def close(self) -> None:
        """Wait until everything that waits is written or refused."""
        if self._writer is not None:
            await self._writer

    async def _write_all(self) -> None:
        try:
            while group := self._take_group():
                await self._write(group)
        finally:
            self._writer = None

    def _take_group(self) -> list[_WaitingBatch]:
        group = [one for one in self._waiting if not one.outcome.cancelled()]
        self._waiting.clear()
        return group

    async def _write(self, group: Sequence[_WaitingBatch]) -> None:
        try:
            outcomes = await self._commit([waiting.events for waiting in group])
        except StoreFailed as failure:
            # One batch may be what the database refuses, and the rest not.
            if len(group) > 1 and not isinstance(failure.__cause__, psycopg.OperationalError):
                for waiting in group:
                    await self._write([waiting])
                return
            outcomes = [failure] * len(group)
        except BaseException as error:
            for waiting in group:
                if not waiting.outcome.done():
                    waiting.outcome.set_exception(error)
            raise
        for waiting, outcome in zip(group, outcomes, strict=True):
            if waiting.outcome.done():
                continue
            if outcome is None:
                waiting.outcome.set_result(None)
            else:
                waiting.outcome.set_exception(outcome)

    async def _commit(self, batches: Sequence[Sequence[Event]]) -> list[_Outcome]:
        attempts = 0

        async def work(connection: Connection) -> list[_Outcome]:
            nonlocal attempts
            attempts += 1
            await require_known_schema(connection)
            names = list(dict.fromkeys(events[0].session_id for events in batches))
            keys = {name: lease_key(session_lease_name(name)) for name in names}
            lost = await self._leases.find_lost(connection, list(keys.values()))
            held = await queries.stored_sessions(connection, names, lock=True)
            outcomes: list[_Outcome] = []
            for events in batches:
                name = events[0].session_id
                if keys[name] in lost:
                    outcomes.append(_taken_over(name))
                else:
                    outcomes.append(await _append_batch(connection, held, events, again=attempts > 1))
            await queries.count_change(connection, self._shard)
            return outcomes

        return await self._connection.run(work)


async def _append_batch(
    connection: Connection, held: dict[SessionId, StoredSession], events: Sequence[Event], *, again: bool
) -> _Outcome:
    name = events[0].session_id
    stored = held.get(name)
    try:
        rows = [event_row(event) for event in events]
        if again and stored is not None and await _is_written(connection, stored, rows):
            return None
        summary = advance(None if stored is None else stored.summary, events)
    except StoreFailed as refusal:
        return refusal
    before = INITIAL_CHECKSUM if stored is None else stored.checksum
    checksum = _last_checksum(before, rows)
    if stored is None:
        number = await queries.insert_session(connection, summary, checksum)
    else:
        number = stored.number
        await queries.update_session(connection, number, summary, checksum)
    await queries.insert_events(connection, number, before, rows)
    held[name] = StoredSession(number, checksum, summary)
    return None


async def _is_written(connection: Connection, stored: StoredSession, rows: Sequence[EventRow]) -> bool:
    """Whether the log has these very events, because an earlier attempt was committed after all."""
    if stored.summary.last_seq < rows[-1].seq:
        return False
    before: bytes | None = INITIAL_CHECKSUM
    if rows[0].seq > 1:
        before = await queries.event_checksum(connection, stored.number, rows[0].seq - 1)
    found = await queries.event_checksum(connection, stored.number, rows[-1].seq)
    return before is not None and found == _last_checksum(before, rows)


def _last_checksum(before: bytes, rows: Sequence[EventRow]) -> bytes:
    for row in rows:
        before = next_checksum(before, row)
    return before


def _taken_over(session_id: SessionId) -> StoreFailed:
    return StoreFailed(
        f"Another process has taken over session {session_id}, because this one did not renew its lease in time.",
        suggestion="Open the session again to continue from its current state.",
    )
