"""The server under bad callers and at its end: too much, too slow, not at all, and a graceful stop."""

import asyncio
import logging
import os
import socket

import pytest

from portico.api.health import CHALLENGE_HEADER, make_proof
from portico.domain.errors import StoreFailed
from portico.doors.http.asgi import Receive, Scope, Send
from portico.doors.http.guard import MAX_BODY_BYTES
from portico.doors.http.http1_connection import Http1Connection
from portico.doors.http.server import HttpServer, listen
from tests.doors.http.support import (
    DEADLINE,
    INFO,
    JSON_BODY,
    START,
    STREAM_BODY,
    TOKEN,
    WATCH,
    Caller,
    Door,
    bearer,
    open_door,
)
from tests.support.looping import until

HUNDRED_MEGABYTES = 100 * 1024 * 1024
TOO_LARGE = (413, "resource_exhausted")
WATCHING = {**bearer(TOKEN), "content-type": "application/connect+json"}


class Impatient(Http1Connection):
    head_seconds = 0.2


async def test_health_tells_everybody_the_version_and_no_more() -> None:
    async with open_door() as door:
        reply = await door.ask("GET", "/healthz")
        assert (reply.status, reply.json) == (200, {"status": "ok", "version": "1.2.3"})


async def test_health_tells_those_who_know_the_token_how_the_server_does() -> None:
    async with open_door() as door:
        told = (await door.ask("GET", "/healthz", bearer(TOKEN))).json["health"]
        assert (told["sessions"], told["active_sessions"], told["memory_bytes"]) == (3, 1, 50_000_000)
        assert (await door.ask("GET", "/healthz", bearer("old"))).refusal == (401, "unauthenticated")


async def test_health_proves_that_the_server_knows_the_token_without_saying_it() -> None:
    async with open_door() as door:
        reply = await door.ask("GET", "/healthz", {CHALLENGE_HEADER: "abc"})
        assert reply.json["proof"] == make_proof(TOKEN, "abc", os.getpid())
        assert reply.json["proof"] != make_proof(TOKEN, "abc", os.getpid() + 1)
        assert TOKEN not in reply.body.decode()


async def test_a_request_that_says_it_is_too_large_is_refused_unread() -> None:
    async with open_door() as door, door.caller() as caller:
        headers = {**JSON_BODY, **bearer(TOKEN), "content-length": str(HUNDRED_MEGABYTES)}
        caller.send_head("POST", INFO, {**headers, "expect": "100-continue"})
        assert (await caller.reply()).refusal == TOO_LARGE


async def test_a_request_of_a_hundred_megabytes_is_refused_without_reading_it_all() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.send_head(
            "POST", INFO, {**JSON_BODY, **bearer(TOKEN), "content-length": str(HUNDRED_MEGABYTES)}
        )
        sent = await _refused_while_sending(caller, bytes(1 << 20), HUNDRED_MEGABYTES)
        assert sent < MAX_BODY_BYTES


async def test_a_request_that_does_not_say_how_large_it_is_is_refused_at_the_limit() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**JSON_BODY, **bearer(TOKEN), "transfer-encoding": "chunked"})
        chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        sent = await _refused_while_sending(caller, chunk, HUNDRED_MEGABYTES)
        assert MAX_BODY_BYTES < sent < MAX_BODY_BYTES * 2
        assert door.service.calls == []


async def test_a_large_request_from_nobody_is_refused_for_being_from_nobody() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**JSON_BODY, "content-length": str(MAX_BODY_BYTES)})
        assert (await caller.reply()).refusal == (401, "unauthenticated")


async def test_a_caller_that_goes_on_sending_after_its_refusal_is_cut_off() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**JSON_BODY, "content-length": str(MAX_BODY_BYTES)})
        assert (await caller.reply()).refusal == (401, "unauthenticated")
        assert await _sent_until_cut_off(caller) < MAX_BODY_BYTES // 2


async def test_a_length_that_no_machine_has_is_refused() -> None:
    async with open_door() as door:
        for length in ("9" * 19, "9" * 5000, "-1", "1e3", "0x10"):
            async with door.caller() as caller:
                caller.send_head("POST", INFO, {**JSON_BODY, **bearer(TOKEN), "content-length": length})
                assert (await caller.reply_head())[0] in (400, 413), length


async def test_the_server_goes_on_after_refusing_a_body() -> None:
    async with open_door() as door, door.caller() as caller:
        assert (await caller.ask("POST", INFO, JSON_BODY, body=bytes(500_000))).status == 401
        assert (await caller.ask("GET", "/healthz")).status == 200


async def test_a_head_that_is_too_long_is_refused() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.writer.write(b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000)
        status, _ = await caller.reply_head()
        assert status == 400
        assert await caller.is_closed()


async def test_callers_that_never_finish_their_head_are_sent_away_and_hold_up_nobody() -> None:
    async with open_door(connection=Impatient) as door:
        slow = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(50)]
        try:
            for _, writer in slow[:25]:
                writer.write(b"GET /healthz HTTP/1.1\r\nhost: 127")
            assert (await door.ask("GET", "/healthz")).status == 200
            for reader, writer in slow:
                assert await Caller(reader, writer, door.port).is_closed()
        finally:
            for _, writer in slow:
                writer.close()


async def test_a_caller_that_drips_its_head_gets_no_more_time_for_each_drop() -> None:
    async with open_door(connection=Impatient) as door, door.caller() as caller:
        assert (await caller.ask("GET", "/healthz")).status == 200
        gone = asyncio.create_task(caller.is_closed())
        async with asyncio.timeout(DEADLINE):
            while not gone.done():
                caller.writer.write(b"G")
                await asyncio.wait((gone,), timeout=0.02)


async def test_bytes_that_are_not_http_are_refused() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        assert (await caller.reply_head())[0] == 400


async def test_a_failure_inside_is_logged_and_tells_the_caller_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("the insides")

    async with open_door(service=broken) as door:
        reply = await door.info(bearer(TOKEN))
    assert reply.refusal == (500, "internal")
    assert b"insides" not in reply.body
    assert "the insides" in caplog.text


async def test_a_refused_call_is_logged_without_what_it_carried(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_door() as door:
        cookie = await door.cookie()
        await door.info({"cookie": cookie})
        await door.ask("POST", f"{INFO}?token={TOKEN}", bearer(f"{TOKEN}-old"))
        await door.info(bearer(TOKEN))
    assert "refused status=401" in caplog.text
    assert "refused status=403" in caplog.text
    assert TOKEN not in caplog.text
    assert cookie.partition("=")[2] not in caplog.text


async def test_open_streams_end_properly_when_the_server_stops() -> None:
    async with open_door() as door, door.caller() as caller:
        await _watch(caller)
        chunks = caller.chunks()
        assert b"lastSeq" in await anext(chunks)
        door.server.stop()
        rest = b"".join([chunk async for chunk in chunks])
        assert rest == b"\x02\x00\x00\x00\x02{}"
        async with asyncio.timeout(DEADLINE):
            await door.running
        with pytest.raises(ConnectionRefusedError):
            await door.ask("GET", "/healthz")


async def test_a_caller_on_an_open_connection_is_told_that_the_server_stops() -> None:
    held = asyncio.Event()

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with open_door(service=waits) as door, door.caller() as busy:
        busy.send_head("POST", INFO, {**bearer(TOKEN), "content-length": "0"})
        async with door.caller() as caller:
            assert (await caller.ask("GET", "/healthz")).status == 200
            door.closing.set()
            assert (await caller.ask("POST", INFO, bearer(TOKEN))).refusal == (503, "unavailable")
        held.set()
        assert (await busy.reply_head())[0] == 200


async def test_a_reader_that_does_not_read_is_paused_and_cannot_hold_up_the_end() -> None:
    async with open_door(flood=True, grace=0.2) as door, door.caller() as caller:
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await _send_watch(caller)
        await _until_it_stands_still(door)
        assert (await door.ask("GET", "/healthz")).status == 200
        door.server.stop()
        async with asyncio.timeout(DEADLINE):
            await door.running


async def test_a_second_word_to_stop_is_obeyed_at_once() -> None:
    async with open_door(flood=True, grace=1000) as door, door.caller() as caller:
        caller.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await _send_watch(caller)
        await _until_it_stands_still(door)
        door.server.stop()
        door.server.stop()
        async with asyncio.timeout(DEADLINE):
            await door.running


async def test_the_server_stops_for_those_who_know_the_token_only() -> None:
    async with open_door() as door:
        cookie = {"cookie": await door.cookie(), "sec-fetch-site": "same-origin"}
        assert (await door.ask("POST", "/stop")).status == 401
        assert (await door.ask("POST", "/stop", cookie)).status == 401
        assert not door.closing.is_set()
        assert (await door.ask("POST", "/stop", bearer(TOKEN))).json["status"] == "stopping"
        async with asyncio.timeout(DEADLINE):
            await door.running


async def test_a_server_that_cannot_say_where_it_is_ends_quietly_though_somebody_calls() -> None:
    listener, mishaps = listen(0), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: mishaps.append(context))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("somebody was let in")

    def ready() -> None:
        raise StoreFailed("the disk is full")

    with socket.socket() as caller:
        caller.connect(listener.getsockname())
        with pytest.raises(StoreFailed, match="full"):
            await HttpServer(answer, listener, asyncio.Event()).run(ready)
        for _ in range(10):
            await asyncio.sleep(0)
    assert mishaps == []


async def test_the_socket_listens_on_this_machine_only_and_takes_a_port_from_nobody() -> None:
    with listen(0) as first:
        assert first.getsockname()[0] == "127.0.0.1"
        with pytest.raises(OSError, match="in use"):
            listen(first.getsockname()[1])
        with socket.create_connection(first.getsockname()):
            pass


async def test_an_error_of_the_service_comes_in_the_shape_of_connect() -> None:
    async with open_door() as door:
        reply = await door.ask("POST", START, {**JSON_BODY, **bearer(TOKEN)}, body=b"{}")
        assert reply.status == 500
        assert reply.json["code"] == "unknown"


async def _refused_while_sending(caller: Caller, piece: bytes, most: int) -> int:
    """Send until the refusal comes, or the server hangs up behind it; how much was sent."""
    reply = asyncio.create_task(caller.reply())
    sent = 0
    while sent < most and not reply.done():
        caller.writer.write(piece)
        sent += len(piece)
        try:
            async with asyncio.timeout(DEADLINE):
                await caller.writer.drain()
        except ConnectionError:
            break
    assert (await reply).refusal == TOO_LARGE
    return sent


async def _sent_until_cut_off(caller: Caller) -> int:
    sent = 0
    while sent < MAX_BODY_BYTES:
        caller.writer.write(bytes(1 << 20))
        sent += 1 << 20
        try:
            async with asyncio.timeout(DEADLINE):
                await caller.writer.drain()
        except ConnectionError:
            break
    return sent


async def _send_watch(caller: Caller) -> None:
    caller.send_head("POST", WATCH, {**WATCHING, "content-length": str(len(STREAM_BODY))})
    caller.writer.write(STREAM_BODY)
    await caller.writer.drain()


async def _watch(caller: Caller) -> None:
    await _send_watch(caller)
    assert (await caller.reply_head())[0] == 200


async def _until_it_stands_still(door: Door) -> None:
    """Wait until the stream waits for its reader."""
    await until(lambda: door.service.sent > 5)
    seen = -1
    while seen != door.service.sent:
        seen = door.service.sent
        async with asyncio.timeout(DEADLINE):
            await door.ask("GET", "/healthz")
