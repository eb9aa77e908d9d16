"""Owns the proof that a log is whole: gapless, ordered, decodable, and summed up rightly."""

import sqlite3
from collections.abc import Iterator

import msgspec

from portico.domain.errors import StoreFailed
from portico.domain.events import SessionStarted
from portico.domain.ids import SessionId
from portico.domain.summaries import SessionSummary, fold
from portico.store.connection import rows_in_any_state
from portico.store.failures import library_code
from portico.store.records import EventRow, SummaryRow, event_of, summary_of, unreadable_because

_PAGE_EVENTS = 256
_WORDS_PER_SESSION = 20
_BEFORE_EVERY_SEQ = -(2**63)
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_NEXT_SESSION = (
    f"SELECT number, {', '.join(SummaryRow._fields)} FROM sessions WHERE number > ? ORDER BY number LIMIT 1"
)
_NEXT_EVENTS = """
    SELECT seq, turn_id, at, kind, payload FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?
"""


class SessionCheck:
    """Follows one session from its first event to its last, keeping only what the next step needs."""

    def __init__(self, session_id: SessionId) -> None:
        self._session_id = session_id
        self._last_seq: int | None = None
        self._summary: SessionSummary | None = None
        self._problems: list[str] = []
        self._unspoken = 0

    def follow(self, row: EventRow) -> None:
        """Take the next event, in the order of their numbers."""
        if self._last_seq is None:
            if row.seq != 1 or row.kind != SessionStarted.kind:
                self._report(f"the log begins with event {row.seq} ({row.kind}), not with session_started")
        elif row.seq != self._last_seq + 1:
            self._report(f"event {row.seq} follows event {self._last_seq}")
        self._last_seq = row.seq
        if (reason := unreadable_because(row)) is not None:
            self._report(f"event {row.seq} {reason}")
        try:
            self._summary = fold(self._summary, event_of(self._session_id, row))
        except ValueError:
            # Without a readable beginning, which is reported above, there is nothing to add up.
            return

    def problems(self, stored: SessionSummary) -> list[str]:
        """Everything found, after comparing what the events add up to with the stored summary."""
        if self._last_seq is None:
            self._report("the log has no events")
        if self._summary is not None and self._summary != stored:
            expected, found = msgspec.to_builtins(self._summary), msgspec.to_builtins(stored)
            wrong = [
                f"{field} {found[field]!r} instead of {expected[field]!r}"
                for field in expected
                if expected[field] != found[field]
            ]
            self._report(f"the summary says {', '.join(wrong)}")
        more = [f"session {self._session_id}: and {self._unspoken} more problems"] if self._unspoken else []
        return self._problems + more

    def _report(self, problem: str) -> None:
        if len(self._problems) < _WORDS_PER_SESSION:
            self._problems.append(f"session {self._session_id}: {problem}")
        else:
            self._unspoken += 1


def find_problems(connection: sqlite3.Connection) -> Iterator[list[str]]:
    """What is wrong with a file, a page at a time, in one snapshot while others go on writing.

    The connection must be nobody else's, and each step must run on its thread.
    """
    connection.execute("BEGIN")
    try:
        yield _damage(connection)
        number = 0
        while rows := rows_in_any_state(connection, _NEXT_SESSION, (number,)):
            number, *columns = rows[0]
            yield from _session_problems(connection, number, SummaryRow(*columns))
        yield _orphans(connection)
    except sqlite3.DatabaseError as error:
        if library_code(error) not in _DAMAGE_CODES:
            raise
        yield [f"the rest of the file cannot be read: {error}"]


def _damage(connection: sqlite3.Connection) -> list[str]:
    lines = connection.execute("PRAGMA integrity_check")
    return [f"the file is damaged: {line}" for (line,) in lines if line != "ok"]


def _session_problems(connection: sqlite3.Connection, number: int, stored: SummaryRow) -> Iterator[list[str]]:
    check = SessionCheck(stored.session_id)
    seq = _BEFORE_EVERY_SEQ
    while True:
        page_start = seq
        for row in rows_in_any_state(connection, _NEXT_EVENTS, (number, seq, _PAGE_EVENTS)):
            check.follow(EventRow(*row))
            seq = row[0]
        if seq == page_start:
            break
        yield []
    try:
        yield check.problems(summary_of(stored))
    except StoreFailed as failure:
        yield [f"session {stored.session_id}: {failure.message}"]


def _orphans(connection: sqlite3.Connection) -> list[str]:
    numbers = connection.execute(
        "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT number FROM sessions) LIMIT ?",
        (_WORDS_PER_SESSION,),
    )
    return [f"there are events of number {number}, which is no session" for (number,) in numbers]
