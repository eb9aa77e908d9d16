"""Verifies the log in the database, page by page in one snapshot while others write."""

from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.store.postgres.connection import Connection
from portico.store.postgres.queries import stored_sessions
from portico.store.rows import EventRow
from portico.store.verification import SessionCheck

_PAGE_EVENTS = 1_000
_MOST_ORPHANS = 20
_NEXT_SESSION = "SELECT number, session_id FROM sessions WHERE number > %s ORDER BY number LIMIT 1"
_NEXT_EVENTS = """
    SELECT checksum, seq, turn_id, at, kind, payload FROM events
    WHERE session = %s AND seq > %s ORDER BY seq LIMIT %s
"""
_ORPHANS = """
    SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT number FROM sessions) LIMIT %s
"""


async def find_problems(connection: Connection) -> list[str]:
    problems: list[str] = []
    number = 0
    while row := await (await connection.execute(_NEXT_SESSION, (number,))).fetchone():
        number, session_id = int(row[0]), SessionId(row[1])
        problems += await _session_problems(connection, number, session_id)
    orphans = await (await connection.execute(_ORPHANS, (_MOST_ORPHANS,))).fetchall()
    return problems + [f"there are events of number {found}, which is not a session" for (found,) in orphans]


async def _session_problems(connection: Connection, number: int, session_id: SessionId) -> list[str]:
    check = SessionCheck(session_id)
    seq = -1
    while True:
        rows = await (await connection.execute(_NEXT_EVENTS, (number, seq, _PAGE_EVENTS))).fetchall()
        for checksum, *columns in rows:
            row = EventRow(*columns)
            check.follow(row, checksum)
            seq = row.seq
        if len(rows) < _PAGE_EVENTS:
            break
    try:
        stored = (await stored_sessions(connection, [session_id]))[session_id]
    except StoreFailed as failure:
        return [f"session {session_id}: {failure.message}"]
    return check.problems(stored.summary, stored.checksum)
