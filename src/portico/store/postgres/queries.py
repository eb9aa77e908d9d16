"""SQL queries of the event log, as functions over a connection that is in a transaction."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from portico.domain import codecs
from portico.domain.costs import Spending
from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import STATE_PAYLOADS, Event
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.store.checksums import next_checksum
from portico.store.cost_queries import SessionUsage, fold_spending
from portico.store.postgres.connection import Connection
from portico.store.rows import EventRow, draft_of, draft_row, event_of, limit_bytes

log = logging.getLogger("portico.store")

_HIGHEST_SEQ = 2**63 - 1
_AFTER_EVERY_PREFIX = "\U0010ffff"
_MOST_WORDS = 100
_PAGE_ROWS = 500

_SESSIONS = "SELECT number, checksum, summary, session_id FROM sessions WHERE session_id = ANY(%s)"
_INSERT_SESSION = """
    INSERT INTO sessions (session_id, workspace, words, state, updated_at, last_seq, summary, checksum)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING number
"""
_UPDATE_SESSION = """
    UPDATE sessions SET session_id = %s, workspace = %s, words = %s, state = %s, updated_at = %s, last_seq = %s,
    summary = %s, checksum = %s WHERE number = %s
"""
_INSERT_EVENT = """
    INSERT INTO events (session, seq, turn_id, at, kind, payload, checksum) VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_COPY_EVENTS = """
    INSERT INTO events (session, seq, turn_id, at, kind, payload, checksum)
    SELECT %s, seq, turn_id, at, kind, payload, checksum FROM events WHERE session = %s
"""
_EVENTS = """
    SELECT seq, turn_id, at, kind, payload FROM events
    WHERE session = (SELECT number FROM sessions WHERE session_id = %s)
"""
_CHECKSUM = "SELECT checksum FROM events WHERE session = %s AND seq = %s"
_COUNT_CHANGE = """
    INSERT INTO changes (shard, count) VALUES (%s, 1) ON CONFLICT (shard) DO UPDATE SET count = changes.count + 1
"""
# The partial index is used only by a query that repeats its condition literally.
_STANDING = """
    kind IN ('plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated')
"""

_USAGE = f"""
    SELECT seq, turn_id, at, kind, payload FROM events
    WHERE session = %s AND {_STANDING} AND kind IN ('usage_updated', 'config_updated')
"""


class StoredSession(NamedTuple):
    """Row of a session: the number of its events' rows, its last checksum, and its summary."""

    number: int
    checksum: bytes
    summary: SessionSummary


async def stored_sessions(
    connection: Connection, session_ids: Sequence[SessionId], *, lock: bool = False
) -> dict[SessionId, StoredSession]:
    """Sessions by id; locked in the order of their ids, so that two writers cannot wait for each other."""
    ending = " ORDER BY session_id FOR UPDATE" if lock else ""
    cursor = await connection.execute((_SESSIONS + ending).encode(), (list(session_ids),))
    found: dict[SessionId, StoredSession] = {}
    for number, checksum, summary, session_id in await _all(cursor):
        found[session_id] = StoredSession(number, bytes(checksum), _summary_of(session_id, bytes(summary)))
    return found


async def insert_session(connection: Connection, summary: SessionSummary, checksum: bytes) -> int:
    cursor = await connection.execute(_INSERT_SESSION.encode(), (*_columns(summary), checksum))
    (row,) = await _all(cursor)
    return int(row[0])


async def update_session(
    connection: Connection, number: int, summary: SessionSummary, checksum: bytes
) -> None:
    await connection.execute(_UPDATE_SESSION.encode(), (*_columns(summary), checksum, number))


async def insert_events(
    connection: Connection, number: int, checksum: bytes, rows: Sequence[EventRow]
) -> None:
    """Add events that follow the one with this checksum."""
    values = []
    for row in rows:
        checksum = next_checksum(checksum, row)
        values.append((number, *row, checksum))
    async with connection.cursor() as cursor:
        await cursor.executemany(_INSERT_EVENT.encode(), values)


async def copy_events(connection: Connection, source: int, target: int) -> None:
    await connection.execute(_COPY_EVENTS.encode(), (target, source))


async def event_checksum(connection: Connection, number: int, seq: int) -> bytes | None:
    rows = await _all(await connection.execute(_CHECKSUM.encode(), (number, seq)))
    return bytes(rows[0][0]) if rows else None


async def count_change(connection: Connection, shard: int) -> None:
    await connection.execute(_COUNT_CHANGE.encode(), (shard,))


async def generation(connection: Connection) -> int:
    ((count,),) = await _all(await connection.execute("SELECT coalesce(sum(count), 0) FROM changes"))
    return int(count)


async def read(
    connection: Connection, session_id: SessionId, after_seq: int, limit: int, max_bytes: int | None
) -> list[Event]:
    """Events with a greater seq. Large ones are read in pages, so that few too many are fetched."""
    events: list[Event] = []
    size, seq = 0, after_seq
    while (left := limit - len(events)) > 0 and (max_bytes is None or size < max_bytes):
        page = min(left, _PAGE_ROWS)
        query = f"{_EVENTS} AND seq > %s ORDER BY seq LIMIT %s"
        found = await _event_rows(await connection.execute(query.encode(), (session_id, seq, page)))
        remaining = None if max_bytes is None else max_bytes - size
        taken = list(limit_bytes(found, remaining))
        events += [event_of(session_id, row) for row in taken]
        size += sum(len(row.payload) for row in taken)
        if len(found) < page:
            break
        seq = found[-1].seq
    return events


async def tail(
    connection: Connection, session_id: SessionId, before_seq: int | None, limit: int
) -> list[Event]:
    end = _HIGHEST_SEQ if before_seq is None else before_seq
    query = f"{_EVENTS} AND seq < %s ORDER BY seq DESC LIMIT %s"
    rows = await _event_rows(await connection.execute(query.encode(), (session_id, end, max(limit, 0))))
    return [event_of(session_id, row) for row in reversed(rows)]


async def standing(connection: Connection, session_id: SessionId) -> list[Event]:
    events = []
    for payload in STATE_PAYLOADS:
        query = f"{_EVENTS} AND {_STANDING} AND kind = %s ORDER BY seq DESC LIMIT 1"
        rows = await _event_rows(await connection.execute(query.encode(), (session_id, payload.kind)))
        events += [event_of(session_id, row) for row in rows]
    return events


async def permission_events(connection: Connection, session_id: SessionId) -> list[Event]:
    query = f"{_EVENTS} AND kind IN ('permission_requested', 'permission_resolved', 'session_started') ORDER BY seq"
    rows = await _event_rows(await connection.execute(query.encode(), (session_id,)))
    return [event_of(session_id, row) for row in rows]


async def draft(connection: Connection, session_id: SessionId) -> SessionDraft:
    rows = await _all(
        await connection.execute("SELECT draft FROM drafts WHERE session_id = %s", (session_id,))
    )
    return draft_of(session_id, bytes(rows[0][0])) if rows else SessionDraft()


async def save_draft(connection: Connection, session_id: SessionId, draft: SessionDraft) -> None:
    if draft.empty:
        await connection.execute("DELETE FROM drafts WHERE session_id = %s", (session_id,))
        return
    # The session may have been deleted meanwhile.
    await connection.execute(
        "INSERT INTO drafts (session_id, draft) SELECT session_id, %s::bytea FROM sessions WHERE session_id = %s "
        "ON CONFLICT (session_id) DO UPDATE SET draft = EXCLUDED.draft",
        (draft_row(draft), session_id),
    )


async def drafted(connection: Connection) -> frozenset[SessionId]:
    rows = await _all(await connection.execute("SELECT session_id FROM drafts"))
    return frozenset(SessionId(name) for (name,) in rows)


async def summaries(
    connection: Connection,
    *,
    workspace: str | None,
    id_prefix: str,
    search: str,
    before: SessionId | None,
    limit: int,
) -> list[SessionSummary]:
    conditions, values = ["TRUE"], list[object]()
    if workspace is not None:
        conditions.append("workspace = %s")
        values.append(_storable(workspace))
    if id_prefix:
        conditions.append("session_id BETWEEN %s AND %s")
        values += [_storable(id_prefix), _storable(id_prefix) + _AFTER_EVERY_PREFIX]
    for word in list(dict.fromkeys(search.split()))[:_MOST_WORDS]:
        conditions.append("strpos(words, %s) > 0")
        values.append(_storable(word).lower())
    if before is not None:
        conditions.append(
            "(updated_at, session_id) < (SELECT updated_at, session_id FROM sessions WHERE session_id = %s)"
        )
        values.append(before)
    query = (
        f"SELECT session_id, summary FROM sessions WHERE {' AND '.join(conditions)} "
        "ORDER BY updated_at DESC, session_id DESC LIMIT %s"
    )
    rows = await _all(await connection.execute(query.encode(), (*values, max(limit, 0))))
    found = []
    for session_id, summary in rows:
        try:
            found.append(_summary_of(session_id, bytes(summary)))
        except StoreFailed as failure:  # Opening such a session and `verify` report it.
            log.debug("left out of a list: %s", failure.message)
    return found


async def spending(connection: Connection, *, since_ms: int, session_id: SessionId | None) -> list[Spending]:
    query = "SELECT number, session_id, summary FROM sessions WHERE updated_at >= %s"
    if session_id is not None:
        query += " AND session_id = %s"
    values = (since_ms,) if session_id is None else (since_ms, session_id)
    found: list[SessionUsage] = []
    for number, name, summary in await _all(
        await connection.execute((query + " ORDER BY number").encode(), values)
    ):
        rows = await _event_rows(await connection.execute(_USAGE.encode(), (number,)))
        found.append((_summary_of(name, bytes(summary)), rows))
    return fold_spending(found, since_ms)


async def active_sessions(connection: Connection) -> list[SessionId]:
    active = [state.value for state in TurnState if state.active]
    query = "SELECT session_id FROM sessions WHERE state = ANY(%s) ORDER BY session_id"
    return [SessionId(name) for (name,) in await _all(await connection.execute(query, (active,)))]


async def delete(connection: Connection, session_id: SessionId) -> bool:
    await connection.execute(
        "DELETE FROM events WHERE session = (SELECT number FROM sessions WHERE session_id = %s)",
        (session_id,),
    )
    await connection.execute("DELETE FROM drafts WHERE session_id = %s", (session_id,))
    cursor = await connection.execute("DELETE FROM sessions WHERE session_id = %s", (session_id,))
    return cursor.rowcount > 0


def _columns(summary: SessionSummary) -> tuple[object, ...]:
    return (
        summary.session_id,
        _storable(summary.workspace),
        _storable(f"{summary.title} {summary.workspace} {summary.agent}").lower(),
        summary.state.value,
        summary.updated_at,
        summary.last_seq,
        msgspec.json.encode(summary),
    )


def _storable(text: str) -> str:
    """A text that a column can hold: PostgreSQL has none with the character NUL."""
    return text.replace("\0", "")


def _summary_of(session_id: SessionId, stored: bytes) -> SessionSummary:
    try:
        return codecs.decode_json(stored, SessionSummary)
    except ValueError as error:
        raise StoreFailed(
            f"The summary of session {session_id} cannot be read ({error}).",
            suggestion="A newer Portico may have written it. See what is wrong with: portico sessions verify",
        ) from error


async def _event_rows(cursor: Any) -> list[EventRow]:
    return [
        EventRow(seq, turn_id, at, kind, bytes(payload))
        for seq, turn_id, at, kind, payload in await _all(cursor)
    ]


async def _all(cursor: Any) -> list[tuple[Any, ...]]:
    return list(await cursor.fetchall())
