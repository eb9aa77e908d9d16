"""HTTP/2 peers that cost more than they ask for: floods, endless heads, readers that do not read."""

import asyncio
import random
from collections.abc import Callable

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from portico.doors.http.asgi import Receive, Scope, Send
from portico.doors.http.http2_frame_budget import CAPACITY, RESET_COST, FrameBudget, FrameMeter
from tests.doors.http.http2_support import Http2Caller, http2_caller
from tests.doors.http.support import DEADLINE, INFO, WATCH, Door, open_door
from tests.support.looping import until

CALM = ErrorCodes.ENHANCE_YOUR_CALM
ENOUGH = 50_000
"""Frames that no budget allows for."""

FLOODS: dict[str, Callable[[int], Frame]] = {
    "pings": lambda _: PingFrame(0),
    "answers to pings": lambda _: PingFrame(0, flags=["ACK"]),
    "settings": lambda _: SettingsFrame(0),
    "priorities": lambda stream_id: PriorityFrame(stream_id, depends_on=0, stream_weight=1),
    "priorities of calls that are not": lambda _: PriorityFrame(9999, depends_on=0, stream_weight=1),
    "windows opened byte by byte": lambda stream_id: WindowUpdateFrame(stream_id, window_increment=1),
    "empty data": DataFrame,
    "data of one byte": lambda stream_id: DataFrame(stream_id, data=b"x"),
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_of_frames_is_cut_off(kind: str) -> None:
    async with open_door() as door, http2_caller(door) as caller:
        stream_id = caller.call(WATCH, body=None)
        piece = FLOODS[kind](stream_id).serialize() * 10
        assert await _send_until_cut_off(caller, lambda: piece) in (CALM, None)
        await _serves_others(door)


async def test_calls_that_are_taken_back_at_once_are_cut_off() -> None:
    ran = 0

    async def counts(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ran
        ran += 1
        while (await receive())["type"] != "http.disconnect":
            pass

    async with open_door(service=counts) as door, http2_caller(door) as caller:

        def call_and_take_back() -> bytes:
            caller.frames.reset_stream(caller.call(INFO, body=None), ErrorCodes.CANCEL)
            return caller.frames.data_to_send()

        assert await _send_until_cut_off(caller, call_and_take_back) in (CALM, None)
        assert ran < CAPACITY / RESET_COST * 10
        await _serves_others(door)


async def test_calls_taken_back_count_until_the_service_has_let_go_of_them() -> None:
    held, ran = asyncio.Event(), 0

    async def stays(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ran
        ran += 1
        await held.wait()

    async with open_door(service=stays) as door, http2_caller(door) as caller:
        for _ in range(120):
            stream_id = caller.call(INFO, body=None)
            caller.frames.reset_stream(stream_id, ErrorCodes.CANCEL)
        caller.flush()
        late = caller.call("/healthz", {}, method="GET")
        await caller.until(lambda: caller.heard[late].over)
        assert caller.heard[late].reset is ErrorCodes.REFUSED_STREAM
        assert ran == 100
        held.set()


async def test_a_flood_that_reads_no_answers_is_not_read_either() -> None:
    async with open_door(grace=0.2) as door, http2_caller(door) as caller:
        assert (await caller.ask(INFO)).grpc_status == "0"
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]
        with pytest.raises((TimeoutError, ConnectionError)):
            await _flood(caller, PingFrame(0).serialize() * 10)
        await _serves_others(door)


@pytest.mark.parametrize("whole", [True, False])
async def test_a_head_that_is_too_long_is_refused(whole: bool) -> None:
    async with open_door() as door, http2_caller(door) as caller:
        if whole:
            caller.call("/healthz", {"x": "y" * 60_000}, method="GET")
        else:
            caller.writer.write(HeadersFrame(1, data=b"\x82").serialize())
            caller.writer.write(ContinuationFrame(1, data=bytes(16_000)).serialize() * 3)
        assert await caller.until_goodbye() in (CALM, None)
        await _serves_others(door)


async def test_a_small_head_that_unpacks_to_a_large_one_is_refused() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        large = [("x", "y" * 3000)] * 12
        head = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a"), *large]
        caller.frames.send_headers(1, head, end_stream=True)
        packed = caller.frames.data_to_send()
        assert len(packed) < 10_000
        caller.writer.write(packed)
        assert await caller.until_goodbye() is CALM
        await _serves_others(door)


async def test_a_reader_that_opens_no_window_is_paused_and_holds_up_no_other_call() -> None:
    async with open_door(flood=True) as door, http2_caller(door) as caller:
        caller.opens_windows = False
        stream_id = caller.call(WATCH)
        await caller.until(lambda: len(caller.heard[stream_id].body) == 65_535)
        sent = door.service.sent
        async with http2_caller(door) as other:
            assert (await other.ask(INFO)).grpc_status == "0"
        assert door.service.sent == sent == 1
        caller.frames.increment_flow_control_window(100_000)
        caller.frames.increment_flow_control_window(100_000, stream_id)
        caller.flush()
        await caller.until(lambda: len(caller.heard[stream_id].body) > 150_000)


async def test_one_call_whose_window_stays_shut_leaves_the_others_alone() -> None:
    async with open_door(flood=True) as door, http2_caller(door, window=0) as caller:
        shut = caller.call(WATCH)
        open_one = caller.call(INFO)
        caller.frames.increment_flow_control_window(10_000, open_one)
        caller.flush()
        await caller.until(lambda: caller.heard[open_one].over)
        assert caller.heard[open_one].grpc_status == "0"
        assert caller.heard[shut].body == b""
        assert door.service.sent == 0


async def test_a_reader_that_does_not_read_is_paused_and_cannot_hold_up_the_end() -> None:
    async with open_door(flood=True, grace=0.2) as door, http2_caller(door, window=2**31 - 1) as caller:
        caller.frames.increment_flow_control_window(2**31 - 1 - 65_535)
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]
        caller.call(WATCH)
        await until(lambda: door.service.sent > 5)
        seen = -1
        while seen != door.service.sent:
            seen = door.service.sent
            await _serves_others(door)
        door.server.stop()
        async with asyncio.timeout(DEADLINE):
            await door.running


async def test_noise_after_the_first_words_harms_nobody() -> None:
    chance = random.Random(7)
    async with open_door() as door:
        for size in [1, 9, 10, 50, 500, 5000] * 5:
            async with http2_caller(door) as caller:
                caller.writer.write(chance.randbytes(size))
                caller.writer.write_eof()
                await caller.until_closed()
        await _serves_others(door)


async def test_frames_put_together_at_random_harm_nobody(caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(11)
    async with open_door() as door:
        for _ in range(30):
            async with http2_caller(door) as caller:
                caller.call(WATCH, body=None)
                for _ in range(60):
                    length = chance.choice([0, 4, 5, 8, 30])
                    head = length.to_bytes(3, "big") + bytes(
                        [chance.randrange(12), chance.choice([0, 1, 4, 5, 8, 32])]
                    )
                    stream_id = chance.choice([0, 1, 1, 1, 2, 3, 5])
                    caller.writer.write(head + stream_id.to_bytes(4, "big") + chance.randbytes(length))
                caller.writer.write_eof()
                await caller.until_closed()
        await _serves_others(door)
    assert "Traceback" not in caplog.text


def test_frames_are_counted_alike_however_they_are_cut() -> None:
    frames = [PingFrame(0), DataFrame(1, data=bytes(300)), DataFrame(1, data=b"x"), RstStreamFrame(1)]
    data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"".join(frame.serialize() for frame in frames)
    for size in (1, 2, 8, 9, 10, len(data)):
        meter = FrameMeter(1000)
        costs = [meter.cost(data[start : start + size]) for start in range(0, len(data), size)]
        assert sum(costs) == 1 + 0 + 1 + RESET_COST


def test_time_and_work_pay_for_frames() -> None:
    now = 0.0
    budget = FrameBudget(lambda: now)
    assert budget.spend(CAPACITY)
    assert not budget.spend(1)
    budget.earn(2)
    assert budget.spend(1)
    assert not budget.spend(1)
    now = 1000.0
    assert budget.spend(CAPACITY)
    assert not budget.spend(1)


async def _send_until_cut_off(caller: Http2Caller, piece: Callable[[], bytes]) -> ErrorCodes | int | None:
    """Send until the server hangs up, as it must; what it said in the end, if that came through."""
    gone = asyncio.create_task(caller.until_goodbye())
    for _ in range(ENOUGH):
        caller.writer.write(piece())
        await asyncio.wait((gone,), timeout=0)
        if gone.done():
            break
    return await gone


async def _flood(caller: Http2Caller, piece: bytes) -> None:
    async with asyncio.timeout(DEADLINE):
        for _ in range(ENOUGH):
            caller.writer.write(piece)
            await caller.writer.drain()


async def _serves_others(door: Door) -> None:
    async with asyncio.timeout(DEADLINE):
        assert (await door.ask("GET", "/healthz")).status == 200
