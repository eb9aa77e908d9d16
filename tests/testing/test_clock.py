"""A clock in the hand of the test: nothing happens before it is moved, and then everything in order."""

import asyncio

import pytest

from portico.sessions.ports import Clock
from portico.testing import ManualClock


async def test_it_stands_still_until_it_is_moved() -> None:
    clock: Clock = (manual := ManualClock(start_ms=1_000))
    assert (clock.now_ms(), clock.monotonic()) == (1_000, 0.0)
    await manual.advance(2.5)
    assert (clock.now_ms(), clock.monotonic()) == (3_500, 2.5)


async def test_sleepers_wake_in_order_each_at_its_own_time() -> None:
    clock = ManualClock(start_ms=0)
    woken: list[tuple[str, int]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now_ms()))

    tasks = [
        asyncio.create_task(sleeper(name, seconds))
        for name, seconds in [("c", 3), ("a", 1), ("b1", 2), ("b2", 2)]
    ]
    await clock.advance(0.999)
    assert woken == []
    await clock.advance(1.001)
    assert woken == [("a", 1000), ("b1", 2000), ("b2", 2000)]
    await clock.advance(10)
    assert woken[-1] == ("c", 3000)
    await asyncio.gather(*tasks)


async def test_whoever_sleeps_again_on_the_way_is_woken_again() -> None:
    clock = ManualClock(start_ms=0)
    ticks: list[int] = []

    async def tick() -> None:
        for _ in range(10):
            await clock.sleep(0.1)
            ticks.append(clock.now_ms())

    task = asyncio.create_task(tick())
    await clock.advance(1.0)
    assert ticks == [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    await task


async def test_a_woken_task_may_wake_others_before_time_goes_on() -> None:
    clock = ManualClock(start_ms=0)
    seen: list[int] = []
    gate = asyncio.Event()

    async def opener() -> None:
        await clock.sleep(1)
        gate.set()

    async def waiter() -> None:
        await gate.wait()
        seen.append(clock.now_ms())

    tasks = [asyncio.create_task(opener()), asyncio.create_task(waiter())]
    await clock.advance(5)
    assert seen == [1000]
    await asyncio.gather(*tasks)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(1))
    await clock.until_sleeping()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.sleeping == 0
    await clock.advance(2)


async def test_a_cancelled_sleeper_does_not_change_the_order_of_the_others() -> None:
    clock = ManualClock(start_ms=0)
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(clock.now_ms())

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (1, 5, 2, 6, 7, 3)]
    await clock.until_sleeping(6)
    tasks[0].cancel()
    await clock.advance(10)
    assert woken == [2000, 3000, 5000, 6000, 7000]
    await asyncio.wait(tasks)


async def test_no_time_at_all_only_lets_others_run() -> None:
    clock = ManualClock()
    order: list[str] = []

    async def other() -> None:
        order.append("other")

    task = asyncio.create_task(other())
    await clock.sleep(0)
    order.append("me")
    assert order == ["other", "me"]
    assert clock.monotonic() == 0
    await task


async def test_a_test_can_wait_until_so_many_are_asleep() -> None:
    clock = ManualClock()

    async def late(seconds: float) -> None:
        await asyncio.to_thread(lambda: None)
        await clock.sleep(seconds)

    tasks = [asyncio.create_task(late(1)), asyncio.create_task(late(2))]
    async with asyncio.timeout(30):
        await clock.until_sleeping(2)
    assert clock.sleeping == 2
    await clock.advance(2)
    await asyncio.gather(*tasks)
