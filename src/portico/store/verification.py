"""Verifies that every session log is gapless, ordered, decodable and matches its summary and checksums."""

import sqlite3
from collections.abc import Iterator

import msgspec

from portico.domain.errors import StoreFailed
from portico.domain.events import SessionStarted
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary, fold
from portico.store.checksums import INITIAL_CHECKSUM, checksum_of, is_valid
from portico.store.connection import fetch_lenient
from portico.store.errors import DAMAGE_CODES, library_code
from portico.store.progress import ProgressFile, RecordedProgress
from portico.store.rows import EventRow, SummaryRow, decode_problem, event_of, summary_of

_PAGE_EVENTS = 256
_WORDS_PER_SESSION = 20
_BEFORE_EVERY_SEQ = -(2**63)
_UNFIT = bytes(16)
"""No event has this checksum."""

_NEXT_SESSION = (
    f"SELECT number, checksum, {', '.join(SummaryRow._fields)} FROM sessions "
    "WHERE number > ? ORDER BY number LIMIT 1"
)
_NEXT_EVENTS = """
    SELECT checksum, seq, turn_id, at, kind, payload FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?
"""


class SessionCheck:
    """Checks one session from its first event to its last, without keeping the events."""

    def __init__(self, session_id: SessionId) -> None:
        self._session_id = session_id
        self._last_seq: int | None = None
        self._checksum: bytes | None = INITIAL_CHECKSUM
        self._unchecked_from: int | None = None
        self._summary: SessionSummary | None = None
        self._problems: list[str] = []
        self._unspoken = 0

    def follow(self, row: EventRow, checksum: bytes | None = None) -> None:
        """Check the next event, with its checksum if it has one."""
        if self._last_seq is None:
            if row.seq != 1 or row.kind != SessionStarted.kind:
                self._report(f"the log begins with event {row.seq} ({row.kind}), not with session_started")
                self._checksum = None
        elif row.seq != self._last_seq + 1:
            self._report(f"event {row.seq} follows event {self._last_seq}")
            self._checksum = None
        self._last_seq = row.seq
        self._check(row, checksum)
        if (reason := decode_problem(row)) is not None:
            self._report(f"event {row.seq} {reason}")
        try:
            self._summary = fold(self._summary, event_of(self._session_id, row))
        except ValueError:
            # Without a readable beginning, which is reported above, there is nothing to add up.
            return

    def problems(self, stored: SessionSummary, checksum: bytes | None = None) -> list[str]:
        """All problems, after comparing the events with the stored summary and checksum."""
        if self._last_seq is None:
            self._report("the log has no events")
        elif self._checksum not in (None, checksum) and (checksum or not self._unchecked_from):
            self._report(f"the events up to {self._last_seq} are not those that were written")
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

    def _check(self, row: EventRow, checksum: bytes | None) -> None:
        """Compare an event with its checksum. Skipped if the event before it is missing."""
        if checksum is None:
            # Written before events had checksums of their own: the next one that has covers it too.
            self._unchecked_from = self._unchecked_from or row.seq
            self._checksum = None if self._checksum is None else checksum_of(self._checksum, row) or _UNFIT
        else:
            if self._checksum is not None and not is_valid(checksum, self._checksum, row):
                several = f"one of the events {self._unchecked_from} to {row.seq} is"
                self._report(
                    f"{several if self._unchecked_from else f'event {row.seq} ({row.kind}) is'} not what was written"
                )
            self._unchecked_from, self._checksum = None, checksum

    def _report(self, problem: str) -> None:
        if len(self._problems) < _WORDS_PER_SESSION:
            self._problems.append(f"session {self._session_id}: {problem}")
        else:
            self._unspoken += 1


def find_problems(connection: sqlite3.Connection, progress: ProgressFile) -> Iterator[list[str]]:
    """The problems of a file, read page by page in one snapshot while others write.

    The connection must not be shared, and each step must run on its thread.
    """
    # Before the snapshot, which is then at least as far as this.
    try:
        recorded = progress.read() or RecordedProgress({}, (), 0)
    except OSError as error:
        recorded = RecordedProgress({}, (), 0)
        yield [f"the record of how far the log was cannot be read: {error}"]
    connection.execute("BEGIN")
    try:
        yield _damage(connection)
        yield [str(loss) for loss in progress.missing(recorded, connection)]
        number = 0
        while rows := fetch_lenient(connection, _NEXT_SESSION, (number,)):
            number, checksum, *columns = rows[0]
            yield from _session_problems(connection, number, SummaryRow(*columns), checksum)
        yield _orphans(connection)
    except sqlite3.DatabaseError as error:
        if library_code(error) not in DAMAGE_CODES:
            raise
        yield [f"the rest of the file cannot be read: {error}"]


def _damage(connection: sqlite3.Connection) -> list[str]:
    lines = connection.execute("PRAGMA integrity_check")
    return [f"the file is damaged: {line}" for (line,) in lines if line != "ok"]


def _session_problems(
    connection: sqlite3.Connection, number: int, stored: SummaryRow, checksum: bytes | None
) -> Iterator[list[str]]:
    check = SessionCheck(stored.session_id)
    seq = _BEFORE_EVERY_SEQ
    while True:
        page_start = seq
        for own, *row in fetch_lenient(connection, _NEXT_EVENTS, (number, seq, _PAGE_EVENTS)):
            check.follow(EventRow(*row), own)
            seq = row[0]
        if seq == page_start:
            break
        yield []
    try:
        yield check.problems(summary_of(stored), checksum)
    except StoreFailed as failure:
        yield [f"session {stored.session_id}: {failure.message}"]


def _orphans(connection: sqlite3.Connection) -> list[str]:
    numbers = connection.execute(
        "SELECT DISTINCT session FROM events WHERE session NOT IN (SELECT number FROM sessions) LIMIT ?",
        (_WORDS_PER_SESSION,),
    )
    return [f"there are events of number {number}, which is not a session" for (number,) in numbers]
