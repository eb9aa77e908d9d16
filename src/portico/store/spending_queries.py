"""What sessions cost, read from their usage events by an index that has few others."""

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from operator import attrgetter

from portico.domain.events import ConfigUpdated, UsageUpdated
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.spending import Spending, SpendingFold
from portico.store.connection import fetch_lenient
from portico.store.rows import EventRow, event_of

_SESSIONS = """
    SELECT number, session_id, title, agent, workspace FROM sessions WHERE updated_at >= ? ORDER BY number
"""
# The partial index is used only by a query that repeats its condition literally.
_USAGE = """
    SELECT seq, NULL, at, kind, payload FROM events INDEXED BY standing_events
    WHERE session = ? AND kind IN (
        'plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated'
    ) AND kind IN ('usage_updated', 'config_updated')
"""

SessionUsage = tuple[SessionSummary, Iterable[EventRow]]
"""A session and its usage events; others are passed over."""


def spending(connection: sqlite3.Connection, since_ms: int) -> list[Spending]:
    return fold_spending(_usage(connection, since_ms), since_ms)


def _usage(connection: sqlite3.Connection, since_ms: int) -> Iterator[SessionUsage]:
    for number, session_id, title, agent, workspace in fetch_lenient(connection, _SESSIONS, (since_ms,)):
        summary = SessionSummary(session_id=session_id, title=title, agent=agent, workspace=workspace)
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
                mark = blake2b(b"%d %d %b" % (row.seq, row.at, row.payload), digest_size=16).digest()
                fold.add(payload, row.at, counts=mark not in seen and row.at >= since_ms)
                seen.add(mark)
        found += fold.spending()
    return found
