"""The backlog of unwritten events of all sessions: writers wait, except for what cannot wait."""

import asyncio

from portico.sessions.log.backlog import Backlog, BacklogShare


async def settled(waiting: "asyncio.Task[None]") -> bool:
    """Whether it is over once everything that can move has moved."""
    for _ in range(5):
        await asyncio.sleep(0)
    return waiting.done()


async def test_everyone_waits_until_there_is_room_whoever_took_it() -> None:
    backlog = Backlog(100)
    one, two = BacklogShare(backlog), BacklogShare(backlog)
    one.change(60)
    two.change(40)
    await two.room()
    two.change(1)
    waiting = [asyncio.create_task(share.room()) for share in (one, two)]
    assert not await settled(waiting[0])
    one.change(-60)
    for task in waiting:
        assert await settled(task)
    assert (one.size, two.size) == (0, 41)


async def test_nobody_waits_for_what_the_store_refuses() -> None:
    backlog = Backlog(100)
    refused, other = BacklogShare(backlog), BacklogShare(backlog)
    refused.change(500)
    waiting = asyncio.create_task(other.room())
    assert not await settled(waiting)
    refused.set_refused(True)
    assert await settled(waiting)
    refused.change(500)
    await other.room()


async def test_what_is_taken_again_after_a_refusal_counts_again() -> None:
    backlog = Backlog(100)
    share = BacklogShare(backlog)
    share.change(500)
    share.set_refused(True)
    share.set_refused(True)
    share.change(-450)
    share.set_refused(False)
    await share.room()
    share.change(51)
    waiting = asyncio.create_task(share.room())
    assert not await settled(waiting)
    share.change(-101)
    assert await settled(waiting)
