"""Fixtures of the command tests."""

from collections.abc import Iterator

import pytest

from tests.support.program import Portico
from tests.support.serving import Server


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    """The user's server, wherever a test starts one. None is left behind."""
    found = Server(portico)
    yield found
    found.end()
