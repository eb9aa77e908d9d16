"""Waiting for what another process does, with an end."""

import time
from collections.abc import Callable
from pathlib import Path

LOOK_AGAIN = 0.005


def wait_until(happened: Callable[[], bool], what: str, *, seconds: float = 30) -> None:
    """Look until something has happened. Processes of others give no other sign."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(LOOK_AGAIN)


def wait_for_file(path: Path) -> None:
    wait_until(path.exists, f"{path.name}")
