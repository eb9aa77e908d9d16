"""Append-only list of schema migrations.

A step never changes once released: files made by it are out there. Each runs in one transaction
with its record, SQLite's `user_version`, which counts the steps a file has had. A step may use
SQL that SQLite 3.24 knows, and nothing from the rest of Portico, which keeps changing.
"""

import sqlite3
from collections.abc import Callable
from hashlib import blake2b

from portico.store.connection import transaction
from portico.store.errors import newer_schema


def _events_and_sessions(connection: sqlite3.Connection) -> None:
    """The log itself, and the one-line view of each session, so that a list reads no body.

    Events stand in an ordinary table with an index by number: measured against one clustered by
    (session, seq), it takes appends a third faster and a third less space once payloads pass a
    kilobyte, and the tail of a session is read almost as fast.
    """
    connection.execute("""
        CREATE TABLE sessions (
            number INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL UNIQUE,
            workspace TEXT NOT NULL,
            agent TEXT NOT NULL,
            agent_command TEXT NOT NULL,
            reads_only INTEGER NOT NULL,
            title TEXT NOT NULL,
            titled INTEGER NOT NULL,
            state TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            last_seq INTEGER NOT NULL,
            last_turn TEXT,
            agent_session_id TEXT
        )
    """)
    connection.execute("CREATE INDEX sessions_by_change ON sessions (updated_at, session_id)")
    connection.execute("CREATE INDEX sessions_by_workspace ON sessions (workspace, updated_at, session_id)")
    connection.execute("CREATE INDEX sessions_by_state ON sessions (state)")
    connection.execute("""
        CREATE TABLE events (
            session INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            turn_id TEXT,
            at INTEGER NOT NULL,
            kind TEXT NOT NULL,
            payload BLOB NOT NULL,
            PRIMARY KEY (session, seq)
        )
    """)


def _drafts_and_standing_events(connection: sqlite3.Connection) -> None:
    """A draft must outlive its window, and a long session must open without reading all of it.

    The index has only the few kinds whose last event says how things stand, so that the many
    others cost nothing more to append.
    """
    connection.execute("""
        CREATE TABLE desks (
            session_id TEXT PRIMARY KEY,
            desk BLOB NOT NULL
        )
    """)
    connection.execute("""
        CREATE INDEX standing_events ON events (session, kind, seq) WHERE kind IN (
            'plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated'
        )
    """)


def _review_modes(connection: sqlite3.Connection) -> None:
    """Add the review mode of a session; older sessions wrote directly."""
    connection.execute("ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT 'direct'")


def _checksums(connection: sqlite3.Connection) -> None:
    """A payload that was changed, or a row that was swapped for another, must not pass for what was written.

    Events from before get no checksum each, which would write the whole file anew: that of their session's last event
    is taken over all of them.
    """
    connection.execute("ALTER TABLE events ADD COLUMN checksum BLOB")
    connection.execute("ALTER TABLE sessions ADD COLUMN checksum BLOB")
    text_factory, connection.text_factory = connection.text_factory, bytes
    try:
        for (number,) in connection.execute("SELECT number FROM sessions").fetchall():
            checksum = b""
            for seq, turn_id, at, kind, payload in connection.execute(
                "SELECT seq, turn_id, at, kind, payload FROM events WHERE session = ? ORDER BY seq", (number,)
            ):
                named = b"%b%d\0%b\0%d\0%b\0" % (checksum, seq, turn_id or b"", at, kind)
                checksum = blake2b(named + payload, digest_size=16).digest()
            connection.execute("UPDATE sessions SET checksum = ? WHERE number = ?", (checksum, number))
    finally:
        connection.text_factory = text_factory


def _session_components(connection: sqlite3.Connection) -> None:
    """Add the components that a session has switched; older sessions had those of the settings."""
    connection.execute("ALTER TABLE sessions ADD COLUMN components TEXT NOT NULL DEFAULT '{}'")


def _open_proposals(connection: sqlite3.Connection) -> None:
    """Add the files that wait for review, so that a list shows them; those from before count once they change."""
    connection.execute("ALTER TABLE sessions ADD COLUMN proposed TEXT NOT NULL DEFAULT '{}'")


def _fork_points(connection: sqlite3.Connection) -> None:
    """Add where a session branched off from another, so that branches are found without reading their events."""
    connection.execute("ALTER TABLE sessions ADD COLUMN branched_at TEXT NOT NULL DEFAULT 'null'")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _events_and_sessions,
    _drafts_and_standing_events,
    _review_modes,
    _checksums,
    _session_components,
    _open_proposals,
    _fork_points,
)


def schema_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def require_known_schema(connection: sqlite3.Connection) -> None:
    """Refuse a file that a newer Portico has migrated, perhaps while this process had it open."""
    if (found := schema_version(connection)) > len(MIGRATIONS):
        raise newer_schema(found, len(MIGRATIONS))


def migrate(connection: sqlite3.Connection, target: int = len(MIGRATIONS)) -> None:
    """Migrate a file of any version to the target. Several processes may do so at once."""
    require_known_schema(connection)
    while (version := schema_version(connection)) < target:
        with transaction(connection):
            if schema_version(connection) == version:
                MIGRATIONS[version](connection)
                connection.execute(f"PRAGMA user_version = {version + 1}")
