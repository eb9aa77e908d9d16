from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from portico.sessions.ports import Store
from portico.store.postgres.store import PostgresStore
from portico.store.sqlite import SqliteStore
from portico.testing.store import MemoryStore
from tests.support.postgres import database, postgres

__all__ = ["database", "folder", "postgres", "store"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(folder)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(params=["sqlite", "postgres", "memory"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every store there is, one after the other."""
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "sqlite":
        store: SqliteStore | PostgresStore = SqliteStore(tmp_path)
    else:
        store = PostgresStore(request.getfixturevalue("database"), tmp_path)
    await store.open()
    yield store
    await store.close()
