"""Retries with a deadline: a busy window swallows keys and clicks."""

import time
from collections.abc import Awaitable, Callable

from playwright.async_api import Error

PATIENCE = 60.0
# One attempt's share of it, in milliseconds: long enough for a busy machine to show what was asked for.
ATTEMPT_MS = 3_000


async def persist(attempt: Callable[[], Awaitable[None]]) -> None:
    """Do something until it has worked; if it never does, say why."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await attempt()
        except (AssertionError, Error):
            if time.monotonic() > deadline:
                raise
