from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from portico.store.sqlite import SqliteStore
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
