"""Frames over bytes and in memory: order, limits, taps, and what holds a sender back."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from portico.domain.json_depth import MAX_DEPTH
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.frames import FrameStream, LineFrames, MalformedLine, Received, Wait, as_frames, frame_pair
from portico.rpc.framing import LineSplitter
from portico.rpc.messages import Message, notification, request
from portico.rpc.streams import PipeStream, StreamClosed, memory_pair
from tests.support.looping import until

Pair = tuple[FrameStream, FrameStream]


def line_pair() -> Pair:
    near, far = memory_pair()
    return LineFrames(near), LineFrames(far)


@pytest.fixture(params=[line_pair, frame_pair], ids=["bytes", "memory"])
def pair(request: pytest.FixtureRequest) -> Pair:
    made: Pair = request.param()
    return made


def methods(batch: list[Received]) -> list[str | None]:
    return [frame.method for frame in batch if isinstance(frame, Message)]


async def test_frames_arrive_in_order_until_the_end(pair: Pair) -> None:
    near, far = pair
    near.send(notification("first", {}))
    near.write(b'{"jsonrpc":"2.0","method":"second"}\n')
    near.send(request(1, "third", {"n": 1}))
    await near.close()
    seen: list[str | None] = []
    await far.deliver(lambda batch: seen.extend(methods(batch)))
    assert seen == ["first", "second", "third"]
    with pytest.raises(StreamClosed):
        far.send(notification("late", {}))


async def test_a_line_that_is_no_message_is_reported_with_what_its_sender_is_owed(pair: Pair) -> None:
    near, far = pair
    near.write(b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"text":"\\ud800"}}\n')
    near.write(b'{"jsonrpc":"2.0","id":8,"result":"\\ud800"}\n')
    near.write(b'{"jsonrpc":"2.0","id":9,"method":"x","params":%b}\n' % (b"[" * 500 + b"]" * 500))
    near.write(b"garbage\n")
    await near.close()
    found: list[MalformedLine] = []
    await far.deliver(lambda batch: found.extend(one for one in batch if isinstance(one, MalformedLine)))
    asked, answered, deep, garbage = found
    assert asked.request_id == 7
    assert answered.response is not None
    assert answered.response.id == 8
    assert deep.request_id == 9
    assert str(MAX_DEPTH) in deep.fault.detail
    assert (garbage.fault.kind, garbage.response) == ("not_json", None)


async def test_a_message_from_this_process_that_is_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LineSplitter.__init__, "__defaults__", (100,))
    near, far = frame_pair()
    near.write(b'{"jsonrpc":"2.0","id":7,"method":"x","params":"%b"}\n' % (b"x" * 200))
    (frame,) = await far.receive()
    assert isinstance(frame, MalformedLine)
    assert (frame.fault.kind, frame.request_id) == ("too_long", 7)


async def test_a_message_travels_in_memory_as_the_same_object() -> None:
    near, far = frame_pair()
    message = notification("x", {})
    near.send(message)
    assert (await far.receive())[0] is message


async def test_a_peer_that_does_not_read_fills_the_stream(pair: Pair) -> None:
    near, far = pair
    note = notification("x", "y" * 100_000)
    while not near.is_full:
        near.send(note)
    draining = asyncio.create_task(near.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    await far.receive()
    async with asyncio.timeout(5):
        await draining
    assert not near.is_full


async def test_a_tap_sees_lines_both_ways(pair: Pair) -> None:
    near, far = pair
    seen: list[tuple[str, bytes]] = []
    far.tap = lambda direction, line: seen.append((direction, line))
    near.send(notification("x", 1))
    near.write(b"garbage\n")
    await near.drain()
    batch = await far.receive()
    assert len(batch) == 2
    far.send(notification("y", 2))
    assert seen == [
        ("received", b'{"jsonrpc":"2.0","method":"x","params":1}'),
        ("received", b"garbage"),
        ("sent", b'{"jsonrpc":"2.0","method":"y","params":2}\n'),
    ]


async def test_a_last_line_without_a_newline_is_kept_apart() -> None:
    near, far = memory_pair()
    frames = as_frames(near)
    far.write(b'{"jsonrpc":"2.0","method":"whole"}\n{"jsonrpc":"2.0","method":"unfinished"}')
    await far.close()
    seen: list[str | None] = []
    await frames.deliver(lambda batch: seen.extend(methods(batch)))
    assert seen == ["whole"]
    assert methods(frames.take_unfinished()) == ["unfinished"]
    assert frames.take_unfinished() == []


class Gate:
    """Handles frames, and waits when it is told to."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []
        self.open = asyncio.Event()
        self.waits = False

    def take(self, batch: list[Received]) -> Wait | None:
        self.seen += methods(batch)
        return self._wait if self.waits else None

    async def _wait(self) -> None:
        await self.open.wait()


@asynccontextmanager
async def running(*command: str) -> AsyncIterator[ProcessGroup]:
    group = await spawn(command, cwd=Path.cwd(), environ=os.environ)
    try:
        yield group
    finally:
        await group.stop(0)


def frames_of(group: ProcessGroup) -> LineFrames:
    assert group.stdin is not None
    return LineFrames(PipeStream(group.stdout, group.stdin))


async def test_a_pipe_delivers_as_it_is_read_and_nothing_while_the_taker_waits() -> None:
    gate = Gate()
    async with running("cat") as echo:
        frames = frames_of(echo)
        delivering = asyncio.create_task(frames.deliver(gate.take))
        for number in range(3):
            frames.send(notification(f"at once {number}", {}))
            await until(lambda count=number + 1: len(gate.seen) == count)  # type: ignore[misc]
        gate.waits = True
        frames.send(notification("waits", {}))
        await until(lambda: len(gate.seen) == 4)
        frames.send(notification("after", {}))
        await until(lambda: echo.stdout.has_unread)
        assert gate.seen[-1] == "waits"
        gate.waits = False
        gate.open.set()
        await until(lambda: len(gate.seen) == 5)
        frames.send(notification("last", {}))
        await frames.close()
        async with asyncio.timeout(5):
            await delivering
    assert gate.seen == ["at once 0", "at once 1", "at once 2", "waits", "after", "last"]


async def test_a_program_that_floods_a_waiting_taker_is_held_back() -> None:
    gate = Gate()
    gate.waits = True
    async with running("yes", '{"jsonrpc":"2.0","method":"x"}') as flood:
        delivering = asyncio.create_task(frames_of(flood).deliver(gate.take))
        await until(lambda: flood.stdout.is_paused)
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)


async def test_the_end_is_noticed_while_a_taker_waits_if_it_wants_that(pair: Pair) -> None:
    near, far = pair
    gate = Gate()
    gate.waits = True
    delivering = asyncio.create_task(far.deliver(gate.take, abandon_at_end=True))
    near.send(notification("x", {}))
    await until(lambda: gate.seen == ["x"])
    await near.close()
    async with asyncio.timeout(5):
        await delivering
