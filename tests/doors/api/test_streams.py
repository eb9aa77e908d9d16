"""Several sources as one stream: in order, with signs of life, and with an end."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from portico.doors.api.streams import merge_streams


class Source:
    """Gives what it is told to; knows whether it was left properly."""

    def __init__(self) -> None:
        self.items: asyncio.Queue[object] = asyncio.Queue()
        self.taken = 0
        self.left = False

    async def stream(self) -> AsyncGenerator[object]:
        try:
            while (item := await self.items.get()) is not None:
                self.taken += 1
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.left = True


async def test_each_source_keeps_its_order_and_the_first_that_ends_ends_it() -> None:
    numbers, words = Source(), Source()
    for number in range(5):
        numbers.items.put_nowait(number)
    stream = merge_streams(numbers.stream(), words.stream(), closing=asyncio.Event())
    assert [await anext(stream) for _ in range(5)] == list(range(5))
    words.items.put_nowait("a")
    assert await anext(stream) == "a"
    words.items.put_nowait(None)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert numbers.left
    assert words.left


async def test_a_reader_that_does_not_read_takes_nothing_more_from_its_sources() -> None:
    source = Source()
    for number in range(100):
        source.items.put_nowait(number)
    stream = merge_streams(source.stream(), closing=asyncio.Event())
    await anext(stream)
    for _ in range(100):
        await asyncio.sleep(0)
    assert source.taken <= 2
    await stream.aclose()
    assert source.left


async def test_silence_gives_a_sign_of_life_and_the_server_s_end_is_the_stream_s() -> None:
    source, closing = Source(), asyncio.Event()
    stream = merge_streams(source.stream(), closing=closing, quiet=0.001)
    assert await anext(stream) is None
    assert await anext(stream) is None
    source.items.put_nowait(1)
    while (item := await anext(stream)) is None:
        pass
    assert item == 1
    closing.set()
    assert [item async for item in stream if item is not None] == []
    assert source.left


async def test_a_failure_of_one_source_is_the_stream_s_and_leaves_nothing_running() -> None:
    one, two = Source(), Source()
    one.items.put_nowait(ValueError("broken"))
    stream = merge_streams(one.stream(), two.stream(), closing=asyncio.Event())
    before = len(asyncio.all_tasks())
    with pytest.raises(ValueError, match="broken"):
        await anext(stream)
    assert len(asyncio.all_tasks()) == before
    assert two.left


async def test_a_reader_that_is_cut_off_while_it_waits_leaves_its_sources() -> None:
    source = Source()
    stream = merge_streams(source.stream(), closing=asyncio.Event())
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait((reading,))
    await stream.aclose()
    assert source.left
