"""Agents for the tests of this folder; each is gone when its test ends."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from portico.testing import scripted_agent_command
from tests.testing.driver import Driver

Start = Callable[..., Driver]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start an agent with a script (or with the steps of its every prompt)."""
    drivers: list[Driver] = []

    def begin(
        script: Mapping[str, Any] | list[dict[str, Any]] | None = None,
        *,
        state: Path | None = None,
        transcript: Path | None = None,
    ) -> Driver:
        whole = {"on_prompt": [script]} if isinstance(script, list) else script
        drivers.append(Driver(scripted_agent_command(whole, state=state, transcript=transcript), tmp_path))
        return drivers[-1]

    yield begin
    for driver in drivers:
        driver.close()
