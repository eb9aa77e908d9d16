"""Costs of sessions, read from their usage events by an index that has few others."""

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from operator import attrgetter

from portico.domain.costs import Spending, SpendingFold
from portico.domain.events import ConfigUpdated, UsageUpdated
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.store.connection import fetch_lenient
from portico.store.rows import EventRow, event_of

_FACTS = "SELECT number, session_id, title, agent, workspace, created_at FROM sessions WHERE updated_at >= ?"
_SESSIONS = f"{_FACTS} ORDER BY number"
_ONE_SESSION = f"{_FACTS} AND session_id = ?"
# The partial index is used only by a query that repeats its condition literally.
_USAGE = """
    SELECT seq, NULL, at, kind, payload FROM events INDEXED BY standing_events
    WHERE session = ? AND kind IN (
        'plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated'
    ) AND kind IN ('usage_updated', 'config_updated')
"""

SessionUsage = tuple[SessionSummary, Iterable[EventRow]]
"""A session and its usage events; others are passed over."""


def spending(
    connection: sqlite3.Connection, since_ms: int, session_id: SessionId | None = None
) -> list[Spending]:
    return fold_spending(_usage(connection, since_ms, session_id), since_ms)


def _usage(
    connection: sqlite3.Connection, since_ms: int, session_id: SessionId | None
) -> Iterator[SessionUsage]:
    query = _SESSIONS if session_id is None else _ONE_SESSION
    values = (since_ms,) if session_id is None else (since_ms, session_id)
    for number, name, title, agent, workspace, created_at in fetch_lenient(connection, query, values):
        summary = SessionSummary(
            session_id=name, title=title, agent=agent, workspace=workspace, created_at=created_at
        )
        yield summary, [EventRow(*row) for row in connection.execute(_USAGE, (number,)).fetchall()]


def fold_spending(sessions: Iterable[SessionUsage], since_ms: int) -> list[Spending]:
    """Spending of each session since a time. Sessions come oldest first.

    A session that was forked has copies of the events of another. They count there only.
    """
    seen: set[bytes] = set()
    found: list[Spending] = []
    for summary, rows in sessions:
        fold = SpendingFold(summary)
        for row in sorted(rows, key=attrgetter("seq")):
            payload = event_of(SessionId(summary.session_id), row).payload
            if isinstance(payload, ConfigUpdated):
                fold.choose_model(payload)
            elif isinstance(payload, UsageUpdated):
                mark = blake2b(_named(summary, row), digest_size=16).digest()
                fold.add(payload, row.at, counts=mark not in seen and row.at >= since_ms)
                seen.add(mark)
        found += fold.spending()
    return found


def _named(session: SessionSummary, row: EventRow) -> bytes:
    """Identity of an event and its copies: a fork was created when its source was."""
    return b"%d %d %d %b" % (session.created_at, row.seq, row.at, row.payload)
