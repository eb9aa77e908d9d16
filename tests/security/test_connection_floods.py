"""Floods of callers without a token, or with too many streams, do not block others."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from portico.doors.http.admission import AdmissionControl, StreamLimit
from portico.doors.http.http1_connection import Http1Connection
from portico.doors.http.refusals import RequestRefused
from tests.doors.http.http2_support import http2_caller
from tests.doors.http.support import (
    INFO,
    JSON_BODY,
    STREAM_BODY,
    TOKEN,
    WATCH,
    Caller,
    Door,
    bearer,
    open_door,
)

SIGNED = {**JSON_BODY, **bearer(TOKEN)}
WATCHING = {**bearer(TOKEN), "content-type": "application/connect+json"}
CROWD = 600


class Hasty(Http1Connection):
    stranger_seconds = 0.2


@asynccontextmanager
async def crowd(door: Door, count: int, first_words: bytes = b"") -> AsyncIterator[list[Caller]]:
    """So many connections, each of which has said this much and no more."""
    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(door.caller()) for _ in range(count)]
        for caller in callers:
            caller.writer.write(first_words)
        yield callers


@pytest.mark.parametrize(
    "words",
    [b"", b"POST / HTTP/1.1\r\nHost: a\r\nX: ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ids=["silent", "slow heads", "HTTP/2"],
)
async def test_six_hundred_connections_of_nobody_keep_no_caller_out(words: bytes) -> None:
    async with open_door() as door, door.caller() as early:
        assert (await early.ask("POST", INFO, SIGNED, body=b"{}")).status == 200
        async with crowd(door, CROWD, words):
            assert [(await door.info(bearer(TOKEN))).status for _ in range(20)] == [200] * 20
            assert (await early.ask("POST", INFO, SIGNED, body=b"{}")).status == 200


async def test_a_caller_who_came_before_the_crowd_and_has_not_asked_yet_may_have_to_come_again() -> None:
    async with open_door(room=AdmissionControl(most_strangers=3)) as door, crowd(door, 4) as callers:
        assert await callers[0].is_closed()
        assert (await callers[1].ask("POST", INFO, SIGNED, body=b"{}")).status == 200
        assert (await callers[1].ask("POST", INFO, SIGNED, body=b"{}")).status == 200


async def test_a_connection_that_is_never_recognised_is_ended_though_it_keeps_asking() -> None:
    async with open_door(connection=Hasty) as door, door.caller() as stranger, door.caller() as known:
        assert (await known.ask("POST", INFO, SIGNED, body=b"{}")).status == 200
        assert (await stranger.ask("GET", "/healthz")).status == 200
        assert await stranger.is_closed()
        assert (await known.ask("POST", INFO, SIGNED, body=b"{}")).status == 200


async def test_an_http2_connection_that_is_never_recognised_is_ended_too() -> None:
    async with open_door(connection=Hasty) as door, http2_caller(door) as caller:
        assert (await caller.ask(INFO)).grpc_status == "0"
        async with crowd(door, 1, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") as (stranger,):
            assert await stranger.is_closed()
        assert (await caller.ask(INFO)).grpc_status == "0"


async def test_watchers_beyond_the_most_are_refused_and_calls_go_on() -> None:
    async with open_door() as door, AsyncExitStack() as stack:
        statuses = []
        for _ in range(450):
            watcher = await stack.enter_async_context(door.caller())
            watcher.send_head("POST", WATCH, {**WATCHING, "content-length": str(len(STREAM_BODY))})
            watcher.writer.write(STREAM_BODY)
            statuses.append((await watcher.reply_head())[0])
        assert (statuses.count(200), statuses.count(429)) == (384, 66)
        assert (await door.info(bearer(TOKEN))).status == 200


async def test_a_stream_that_ends_makes_room_for_the_next() -> None:
    async with open_door(most_streams=1) as door:
        for _ in range(3):
            async with http2_caller(door) as caller:
                watching = caller.call(WATCH)
                await caller.until(lambda one=watching: bool(caller.heard[one].body))  # type: ignore[misc]
                refused = await caller.ask(WATCH)
                assert refused.grpc_status == "8"
                caller.frames.reset_stream(watching)
                caller.flush()
                assert (await caller.ask(INFO)).grpc_status == "0"


class Guest:
    def __init__(self, calls: int = 0) -> None:
        self.calls = calls
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_the_oldest_idle_one_is_dropped_first() -> None:
    room, guests = AdmissionControl(most_strangers=2), [Guest(1), Guest(), Guest(), Guest(1), Guest(1)]
    for guest in guests[:3]:
        room.enter(guest)
    assert [guest.dropped for guest in guests] == [False, True, False, False, False]
    for guest in guests[3:]:
        room.enter(guest)
    assert [guest.dropped for guest in guests] == [True, True, True, False, False]


def test_a_known_connection_is_dropped_for_another_only_if_it_is_idle() -> None:
    room, busy, idle, late = AdmissionControl(most_known=2), Guest(1), Guest(), Guest()
    room.recognise(busy)
    room.recognise(idle)
    room.recognise(late)
    assert (busy.dropped, idle.dropped) == (False, True)
    late.calls = 1
    with pytest.raises(RequestRefused, match="Too many connections"):
        room.recognise(Guest())


def test_calls_of_strangers_make_room_for_each_other_and_take_none_from_others() -> None:
    room, old, young, known = AdmissionControl(most_calls=100), Guest(90), Guest(10), Guest(90)
    for guest in (old, young, known):
        room.enter(guest)
    room.recognise(known)
    assert room.has_room_for_call(known)
    assert room.has_room_for_call(young)
    assert old.dropped
    known.calls = 100
    assert not room.has_room_for_call(known)


def test_only_streams_are_counted() -> None:
    streams = StreamLimit({"/watch"}, most=0)
    with streams.counted("/info"):
        pass
    with pytest.raises(RequestRefused), streams.counted("/watch"):
        pass
