"""SQL queries of the event log, as functions over a connection."""

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import STATE_PAYLOADS, Event
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.store.batches import advance, advance_copy
from portico.store.checksums import INITIAL_CHECKSUM, next_checksum
from portico.store.connection import fetch_lenient, transaction
from portico.store.migrations import require_known_schema
from portico.store.progress import LogExtent, ProgressFile
from portico.store.rows import (
    EventRow,
    SummaryRow,
    draft_of,
    draft_row,
    event_of,
    event_row,
    limit_bytes,
    summary_of,
    summary_row,
)

log = logging.getLogger("portico.store")

_COLUMNS = ", ".join(SummaryRow._fields)
_HIGHEST_SEQ = 2**63 - 1
_AFTER_EVERY_PREFIX = "\U0010ffff"
_MOST_WORDS = 100
"""Most words of a search, since SQLite limits the size of a condition."""

_HELD_SESSION = f"SELECT number, checksum, {_COLUMNS} FROM sessions WHERE session_id = ?"
_INSERT_SESSION = (
    f"INSERT INTO sessions ({_COLUMNS}, checksum) VALUES ({', '.join('?' * len(SummaryRow._fields))}, ?)"
)
_UPDATE_SESSION = (
    f"UPDATE sessions SET {', '.join(f'{column} = ?' for column in SummaryRow._fields)}, checksum = ? "
    "WHERE number = ?"
)
_INSERT_EVENT = (
    "INSERT INTO events (session, seq, turn_id, at, kind, payload, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_COPY_EVENTS = """
    INSERT INTO events (session, seq, turn_id, at, kind, payload, checksum)
    SELECT ?, seq, turn_id, at, kind, payload, checksum FROM events WHERE session = ? ORDER BY seq
"""
_EVENTS = """
    SELECT seq, turn_id, at, kind, payload FROM events
    WHERE session = (SELECT number FROM sessions WHERE session_id = ?)
"""


# The partial index is used only by a query that repeats its condition literally.
_STANDING = """
    kind IN ('plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated')
"""


class _StoredSession(NamedTuple):
    """Row of a session: the number of its events' rows, its last checksum, and its summary."""

    number: int | None
    checksum: bytes
    summary: SessionSummary | None


def append(
    connection: sqlite3.Connection, batches: Sequence[Sequence[Event]], *, durable: bool
) -> list[StoreFailed | LogExtent]:
    """Write batches, each of one session, in one transaction; returns the progress or the error of each."""
    # FULL waits for the disk at this commit. NORMAL leaves that to the system, which outlives
    # any process; the write-ahead log stays consistent either way.
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    with transaction(connection):
        require_known_schema(connection)
        return [_append_batch(connection, events) for events in batches]


def _append_batch(connection: sqlite3.Connection, events: Sequence[Event]) -> StoreFailed | LogExtent:
    try:
        rows = [event_row(event) for event in events]
        held = _held(connection, events[0].session_id)
        summary = advance(held.summary, events)
    except StoreFailed as refusal:
        return refusal
    return _write(connection, held, summary, rows)


def copy(connection: sqlite3.Connection, source: SessionId, events: Sequence[Event]) -> LogExtent:
    connection.execute("PRAGMA synchronous = FULL")
    with transaction(connection):
        require_known_schema(connection)
        rows = [event_row(event) for event in events]
        held = _held(connection, source)
        summary = advance_copy(source, held.summary, events)
        cursor = connection.execute(_INSERT_SESSION, (*summary_row(summary), held.checksum))
        connection.execute(_COPY_EVENTS, (cursor.lastrowid, held.number))
        return _write(connection, held._replace(number=cursor.lastrowid), summary, rows)


def _write(
    connection: sqlite3.Connection, held: _StoredSession, summary: SessionSummary, rows: Sequence[EventRow]
) -> LogExtent:
    """Append events to a session, each with its checksum."""
    number, checksum = held.number, held.checksum
    checksums = []
    for row in rows:
        checksum = next_checksum(checksum, row)
        checksums.append(checksum)
    if number is not None:
        connection.execute(_UPDATE_SESSION, (*summary_row(summary), checksum, number))
    else:
        number = connection.execute(_INSERT_SESSION, (*summary_row(summary), checksum)).lastrowid
    connection.executemany(
        _INSERT_EVENT, [(number, *row, own) for row, own in zip(rows, checksums, strict=True)]
    )
    return LogExtent(summary.session_id, summary.last_seq, summary.updated_at, checksum.hex())


def _held(connection: sqlite3.Connection, session_id: SessionId) -> _StoredSession:
    for number, checksum, *columns in fetch_lenient(connection, _HELD_SESSION, (session_id,)):
        return _StoredSession(number, checksum or INITIAL_CHECKSUM, summary_of(SummaryRow(*columns)))
    return _StoredSession(None, INITIAL_CHECKSUM, None)


def read(
    connection: sqlite3.Connection,
    session_id: SessionId,
    *,
    after_seq: int,
    limit: int,
    max_bytes: int | None = None,
) -> list[Event]:
    query = f"{_EVENTS} AND seq > ? ORDER BY seq LIMIT ?"
    # Closed, since an unfinished cursor would keep the write-ahead log from being emptied.
    with closing(connection.execute(query, (session_id, after_seq, max(limit, 0)))) as rows:
        return [event_of(session_id, row) for row in limit_bytes(map(EventRow._make, rows), max_bytes)]


def tail(
    connection: sqlite3.Connection, session_id: SessionId, *, before_seq: int | None, limit: int
) -> list[Event]:
    end = _HIGHEST_SEQ if before_seq is None else before_seq
    rows = connection.execute(
        f"{_EVENTS} AND seq < ? ORDER BY seq DESC LIMIT ?", (session_id, end, max(limit, 0))
    )
    events = [event_of(session_id, EventRow(*row)) for row in rows]
    events.reverse()
    return events


def standing(connection: sqlite3.Connection, session_id: SessionId) -> list[Event]:
    events = []
    for payload in STATE_PAYLOADS:
        row = connection.execute(
            f"{_EVENTS} AND {_STANDING} AND kind = ? ORDER BY seq DESC LIMIT 1", (session_id, payload.kind)
        ).fetchone()
        if row:
            events.append(event_of(session_id, EventRow(*row)))
    return events


def permission_events(connection: sqlite3.Connection, session_id: SessionId) -> list[Event]:
    rows = connection.execute(
        f"{_EVENTS} AND kind IN ('permission_requested', 'permission_resolved', 'session_started') ORDER BY seq",
        (session_id,),
    )
    return [event_of(session_id, EventRow(*row)) for row in rows]


def generation(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def draft(connection: sqlite3.Connection, session_id: SessionId) -> SessionDraft:
    row = connection.execute("SELECT desk FROM desks WHERE session_id = ?", (session_id,)).fetchone()
    return draft_of(session_id, row[0]) if row else SessionDraft()


def save_drafts(connection: sqlite3.Connection, session_id: SessionId, draft: SessionDraft) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        require_known_schema(connection)
        if draft.empty:
            connection.execute("DELETE FROM desks WHERE session_id = ?", (session_id,))
        else:
            # The session may have been deleted meanwhile.
            connection.execute(
                "INSERT OR REPLACE INTO desks (session_id, desk) "
                "SELECT session_id, ? FROM sessions WHERE session_id = ?",
                (draft_row(draft), session_id),
            )


def drafted(connection: sqlite3.Connection) -> frozenset[SessionId]:
    rows = fetch_lenient(connection, "SELECT session_id FROM desks", ())
    return frozenset(SessionId(name) for (name,) in rows)


def summary(connection: sqlite3.Connection, session_id: SessionId) -> SessionSummary | None:
    return _held(connection, session_id).summary


def summaries(
    connection: sqlite3.Connection,
    *,
    workspace: str | None,
    id_prefix: str,
    limit: int,
    search: str = "",
    before: SessionId | None = None,
) -> list[SessionSummary]:
    conditions = ["TRUE"]
    values: list[str | int] = []
    if workspace is not None:
        conditions.append("workspace = ?")
        values.append(workspace)
    if id_prefix:
        conditions.append("session_id BETWEEN ? AND ?")
        values += [id_prefix, id_prefix + _AFTER_EVERY_PREFIX]
    for word in list(dict.fromkeys(search.split()))[:_MOST_WORDS]:
        conditions.append("instr(lower(title || ' ' || workspace || ' ' || agent), lower(?)) > 0")
        values.append(word)
    if before is not None:
        conditions.append(
            "(updated_at, session_id) < (SELECT updated_at, session_id FROM sessions WHERE session_id = ?)"
        )
        values.append(before)
    rows = fetch_lenient(
        connection,
        f"SELECT {_COLUMNS} FROM sessions WHERE {' AND '.join(conditions)} "
        "ORDER BY updated_at DESC, session_id DESC LIMIT ?",
        (*values, max(limit, 0)),
    )
    return list(_readable(SummaryRow(*row) for row in rows))


def _readable(rows: Iterable[SummaryRow]) -> Iterator[SessionSummary]:
    """Skips summaries that cannot be read; opening such a session and `verify` report them."""
    for row in rows:
        try:
            yield summary_of(row)
        except StoreFailed as failure:
            log.debug("left out of a list: %s", failure.message)


def active_sessions(connection: sqlite3.Connection) -> list[SessionId]:
    active = [state.value for state in TurnState if state.active]
    places = ", ".join("?" * len(active))
    rows = fetch_lenient(
        connection, f"SELECT session_id FROM sessions WHERE state IN ({places}) ORDER BY session_id", active
    )
    return [SessionId(session_id) for (session_id,) in rows]


def delete(connection: sqlite3.Connection, session_id: SessionId, progress: ProgressFile) -> bool:
    with transaction(connection):
        require_known_schema(connection)
        connection.execute(
            "DELETE FROM events WHERE session = (SELECT number FROM sessions WHERE session_id = ?)",
            (session_id,),
        )
        connection.execute("DELETE FROM desks WHERE session_id = ?", (session_id,))
        deleted = connection.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,)).rowcount > 0
        progress.forget(session_id)
    # Until the write-ahead log is emptied, both it and the file still have what was deleted.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return deleted
