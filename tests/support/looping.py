"""Waiting in a test for something that has no event of its own, with a deadline."""

import asyncio
from collections.abc import Callable

DEADLINE = 10.0


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go round until the condition holds."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - nothing here could set an event
            await asyncio.sleep(0)
