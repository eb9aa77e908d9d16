"""A file of any earlier version, empty or full, becomes one of this version without a loss.

`schemas/N.sql` is a log exactly as schema N kept it. A new migration needs the next such file,
and no file may ever change: the tests below hold the migrations to them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from portico.domain.events import Notice
from portico.domain.ids import SessionId
from portico.store import migrations
from portico.store.migrations import MIGRATIONS, migrate, schema_version
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, raw_file, session

SCHEMAS = Path(__file__).parent / "schemas"
RELEASED = range(1, len(MIGRATIONS) + 1)


def load(path: Path, version: int, *, full: bool) -> None:
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        if version:
            connection.executescript((SCHEMAS / f"{version}.sql").read_text())
            for table in () if full else tables(connection):
                connection.execute(f"DELETE FROM {table}")
            connection.commit()
        assert schema_version(connection) == version


def tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def shape(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name")
    return [(kind, name, "".join(sql.split())) for kind, name, sql in rows]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def test_every_migration_gives_its_reason() -> None:
    assert all((step.__doc__ or "").strip() for step in MIGRATIONS)


def test_every_released_schema_has_a_frozen_log() -> None:
    assert sorted(int(path.stem) for path in SCHEMAS.glob("*.sql")) == list(RELEASED)


@pytest.mark.parametrize("version", RELEASED)
def test_a_migration_still_makes_what_it_made_when_it_was_released(
    tmp_path: Path, connection: sqlite3.Connection, version: int
) -> None:
    load(tmp_path / "frozen.db", version, full=True)
    migrate(connection, version)
    assert schema_version(connection) == version
    with closing(sqlite3.connect(tmp_path / "frozen.db")) as frozen:
        assert shape(connection) == shape(frozen)


@pytest.mark.parametrize("full", [False, True], ids=["empty", "full"])
@pytest.mark.parametrize("version", [0, *RELEASED])
async def test_a_log_of_every_older_schema_opens_verifies_and_goes_on(
    folder: Path, version: int, full: bool
) -> None:
    load(folder / "portico.db", version, full=full)
    store = SqliteStore(folder)
    await store.open()
    assert await store.verify() == []
    names = [each.session_id for each in await store.summaries()]
    assert names == (["titled", "golden"] if version and full else [])
    if names:
        golden = await store.read(SessionId("golden"), after_seq=0, limit=99)
        assert [each.seq for each in golden] == list(range(1, 7))
        assert not any(isinstance(each.payload, Notice) for each in golden)
    await store.append(session(ALPHA, length=3), durable=False)
    assert await store.verify() == []
    await store.close()
    with raw_file(folder) as file:
        assert schema_version(file) == len(MIGRATIONS)


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(connection: sqlite3.Connection) -> None:
        """Half done, then out of luck."""
        connection.execute("CREATE TABLE half (done)")
        connection.execute("INSERT INTO nowhere VALUES (1)")

    migrate(connection)
    before = shape(connection)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, failing))
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, len(MIGRATIONS) + 1)
    assert schema_version(connection) == len(MIGRATIONS)
    assert shape(connection) == before
    assert not connection.in_transaction
