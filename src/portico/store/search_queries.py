"""SQL of the search index, as functions over a connection.

Documents are numbered by their time, so that the newest matches are found first without sorting all of them.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from portico.domain.ids import SessionId
from portico.domain.search import MATCH_END, MATCH_START, SearchHit, SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.store.connection import transaction
from portico.store.search_documents import SearchDocument

_SCHEMA_VERSION = 1
_PER_MILLISECOND = 1024
"""Document numbers for each millisecond."""
_SNIPPET_TOKENS = 24
_MOST_WORDS = 100
"""Words of a query that count. Thousands would take seconds."""

_SCHEMA = (
    """
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        agent TEXT NOT NULL,
        indexed_seq INTEGER NOT NULL,
        seen_seq INTEGER NOT NULL
    )
    """,
    "CREATE TABLE documents (number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT)",
    "CREATE INDEX documents_by_session ON documents (session)",
    "CREATE VIRTUAL TABLE texts USING fts5 (text, paths, tokenize = 'unicode61 remove_diacritics 2')",
)


def prepare(connection: sqlite3.Connection) -> bool:
    """Create the tables; False if a different version has created others."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        with transaction(connection):
            # Another process may have been faster.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
                version = _SCHEMA_VERSION
    return bool(version == _SCHEMA_VERSION)


def seen(connection: sqlite3.Connection) -> dict[SessionId, int]:
    """The last event of each session that was looked at."""
    return dict(connection.execute("SELECT session_id, seen_seq FROM sessions"))


def indexed_seq(connection: sqlite3.Connection, session_id: SessionId) -> int:
    row = connection.execute(
        "SELECT indexed_seq FROM sessions WHERE session_id = ?", (session_id,)
    ).fetchone()
    return int(row[0]) if row else 0


def add(
    connection: sqlite3.Connection,
    summary: SessionSummary,
    documents: Sequence[SearchDocument],
    *,
    after_seq: int,
    indexed_to: int,
    seen_to: int,
) -> None:
    """Add the documents of the events after `after_seq`, unless another process has done so."""
    with transaction(connection):
        if indexed_seq(connection, summary.session_id) != after_seq:
            return
        connection.execute(
            "INSERT INTO sessions (session_id, workspace, agent, indexed_seq, seen_seq) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (session_id) DO UPDATE SET indexed_seq = excluded.indexed_seq, seen_seq = excluded.seen_seq",
            (summary.session_id, summary.workspace, summary.agent, indexed_to, seen_to),
        )
        (session,) = connection.execute(
            "SELECT number FROM sessions WHERE session_id = ?", (summary.session_id,)
        ).fetchone()
        for document in documents:
            number = _free_number(connection, document.at)
            connection.execute(
                "INSERT INTO documents (number, session, seq, kind) VALUES (?, ?, ?, ?)",
                (number, session, document.seq, document.kind),
            )
            connection.execute(
                "INSERT INTO texts (rowid, text, paths) VALUES (?, ?, ?)",
                (number, document.text, document.paths),
            )


def _free_number(connection: sqlite3.Connection, at: int) -> int:
    while True:
        start = at * _PER_MILLISECOND
        (last,) = connection.execute(
            "SELECT max(number) FROM documents WHERE number >= ? AND number < ?",
            (start, start + _PER_MILLISECOND),
        ).fetchone()
        if last is None:
            return start
        if last + 1 < start + _PER_MILLISECOND:
            return int(last) + 1
        at += 1


def forget(connection: sqlite3.Connection, sessions: Iterable[SessionId]) -> None:
    """Remove all text of the sessions from the file."""
    found = [
        number
        for session_id in sessions
        for (number,) in connection.execute("SELECT number FROM sessions WHERE session_id = ?", (session_id,))
    ]
    if not found:
        return
    with transaction(connection):
        for number in found:
            connection.execute(
                "DELETE FROM texts WHERE rowid IN (SELECT number FROM documents WHERE session = ?)", (number,)
            )
            connection.execute("DELETE FROM documents WHERE session = ?", (number,))
            connection.execute("DELETE FROM sessions WHERE number = ?", (number,))
        # A deleted row stays in the index until its segment is merged.
        connection.execute("INSERT INTO texts (texts) VALUES ('optimize')")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def find(connection: sqlite3.Connection, query: SearchQuery, *, pending: int) -> SearchPage:
    expression = match_expression(query)
    if not expression:
        return SearchPage(hits=(), more=False, pending=pending)
    conditions, values = _conditions(query)
    rows = connection.execute(
        "SELECT texts.rowid, sessions.session_id, documents.seq, documents.kind, "
        f"snippet(texts, -1, ?, ?, '…', {_SNIPPET_TOKENS}) "
        "FROM texts JOIN documents ON documents.number = texts.rowid "
        "JOIN sessions ON sessions.number = documents.session "
        f"WHERE texts MATCH ? {conditions} ORDER BY texts.rowid DESC LIMIT ?",
        (MATCH_START, MATCH_END, expression, *values, query.limit + 1),
    ).fetchall()
    hits = tuple(
        SearchHit(
            number=number,
            session_id=SessionId(session_id),
            seq=seq,
            at=number // _PER_MILLISECOND,
            kind=kind,
            snippet=snippet,
        )
        for number, session_id, seq, kind, snippet in rows[: query.limit]
    )
    return SearchPage(hits=hits, more=len(rows) > query.limit, pending=pending)


def match_expression(query: SearchQuery) -> str:
    """The query in the language of FTS5: every word, the last one perhaps only its beginning."""
    words = [_quoted(word) for word in _clean(query.words).split()[:_MOST_WORDS] if _has_letters(word)]
    if words:
        words[-1] += "*"
    if query.path is not None and _has_letters(query.path):
        words.append(f"paths : {_quoted(_clean(query.path))}")
    return " AND ".join(words)


def _clean(text: str) -> str:
    """Text without what SQLite cannot take: the end of a C string, and bytes that are no characters."""
    return text.replace("\0", " ").encode(errors="replace").decode()


def _quoted(words: str) -> str:
    return '"' + words.replace('"', '""') + '"'


def _has_letters(word: str) -> bool:
    """Whether a word has anything that is indexed."""
    return any(character.isalnum() for character in word)


def _conditions(query: SearchQuery) -> tuple[str, list[str | int]]:
    conditions = {
        "AND sessions.workspace = ?": query.workspace,
        "AND sessions.agent = ?": query.agent,
        "AND texts.rowid >= ?": None if query.since_ms is None else query.since_ms * _PER_MILLISECOND,
        "AND texts.rowid < ?": None if query.until_ms is None else query.until_ms * _PER_MILLISECOND,
        "AND +texts.rowid < ?": query.before,
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    return " ".join(given), list(given.values())
