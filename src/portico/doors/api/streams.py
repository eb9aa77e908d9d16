"""Merge of several async streams into one, with heartbeats while all are quiet.

The next item is taken only when the client has read the one before, so a slow client costs nothing
but its connection.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

from portico.processes.tasks import cancel_and_wait

HEARTBEAT_SECONDS = 15.0

Item = TypeVar("Item")


async def merge_streams(
    *sources: AsyncIterator[Item], closing: asyncio.Event, quiet: float = HEARTBEAT_SECONDS
) -> AsyncGenerator[Item | None]:
    """The items of all sources, in order per source; None after each quiet period. Ends with the first source."""
    upcoming = {_next(source): source for source in sources}
    closed = asyncio.create_task(closing.wait(), name="waiting for the server to close")
    try:
        while True:
            done, _ = await asyncio.wait(
                (*upcoming, closed), timeout=quiet, return_when=asyncio.FIRST_COMPLETED
            )
            if closed in done:
                return
            if not done:
                yield None
            for task in [task for task in upcoming if task in done]:
                source = upcoming.pop(task)
                try:
                    item = task.result()
                except StopAsyncIteration:
                    return
                yield item
                upcoming[_next(source)] = source
    finally:
        await cancel_and_wait(closed, *upcoming)
        for source in sources:
            if isinstance(source, AsyncGenerator):
                await source.aclose()


def _next(source: AsyncIterator[Item]) -> "asyncio.Task[Item]":
    async def take() -> Item:
        return await anext(source)

    return asyncio.create_task(take(), name="next item of a stream")
