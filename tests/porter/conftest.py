"""Fixtures of the Porter tests: a folder to work in, and a connected client."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.porter.client import Client, connected


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with nothing in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
async def client(state: Path) -> AsyncIterator[Client]:
    async with connected(state) as client:
        yield client
