"""Owns the proof that a log is whole: gapless, ordered, decodable, and summed up rightly."""

import sqlite3

import msgspec

from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.domain.summaries import SessionSummary, fold
from portico.store.failures import library_code
from portico.store.records import EventRow, SummaryRow, event_of, summary_of, unreadable_because

_PAGE_EVENTS = 1000
_WORDS_PER_SESSION = 20


class SessionCheck:
    """Follows one session from its first event to its last, keeping only what the next step needs."""

    def __init__(self, session_id: SessionId) -> None:
        self._session_id = session_id
        self._last_seq = 0
        self._summary: SessionSummary | None = None
        self._problems: list[str] = []
        self._unspoken = 0

    def follow(self, row: EventRow) -> None:
        """Take the next event, in the order of their numbers."""
        if row.seq != self._last_seq + 1:
            self._report(f"event {row.seq} follows event {self._last_seq}")
        self._last_seq = row.seq
        if (reason := unreadable_because(row)) is not None:
            self._report(f"event {row.seq} {reason}")
        if self._summary is None and (row.seq != 1 or row.kind != "session_started"):
            self._report(f"the log begins with event {row.seq} ({row.kind}), not with session_started")
        try:
            self._summary = fold(self._summary, event_of(self._session_id, row))
        except ValueError:
            # Reported above, as a log that does not begin with session_started.
            return

    def problems(self, stored: SessionSummary) -> list[str]:
        """Everything found, after comparing what the events add up to with the stored summary."""
        if self._last_seq == 0:
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


class Audit:
    """One pass over a whole file in one snapshot, a page at a time, while others go on writing.

    Each method is run on the thread of the connection it is given, which is nobody else's.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._number = 0
        self._stored: SessionSummary | None = None
        self._check: SessionCheck | None = None
        self._seq = 0

    def begin(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")
        try:
            lines = [line for (line,) in connection.execute("PRAGMA integrity_check")]
            orphans = connection.execute(
                "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT number FROM sessions)"
            ).fetchall()
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            return
        self.problems += [f"the file is damaged: {line}" for line in lines if line != "ok"]
        self.problems += [f"events of session number {number} belong to no session" for (number,) in orphans]

    def next_page(self, connection: sqlite3.Connection) -> bool:
        """Look at some more of the log; whether there is more after that."""
        try:
            if self._check is None:
                return self._next_session(connection)
            self._follow_page(connection, self._check)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            return False
        return True
