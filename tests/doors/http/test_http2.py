"""gRPC over HTTP/2 on the server's one port: who is heard, what an answer looks like, and how it ends."""

import asyncio
import socket

import pytest
from h2.errors import ErrorCodes

from portico.doors.http.asgi import Receive, Scope, Send
from portico.doors.http.guard import MAX_BODY_BYTES
from portico.doors.http.http1_connection import Http1Connection
from portico.doors.http.http2_frame_budget import PREFACE
from portico.doors.http.server import listen
from tests.doors.http.http2_support import GRPC, SIGNED, Http2Caller, http2_caller
from tests.doors.http.support import DEADLINE, INFO, JSON_BODY, START, TOKEN, WATCH, bearer, open_door

UNAUTHENTICATED = "16"
PERMISSION_DENIED = "7"
RESOURCE_EXHAUSTED = "8"
INTERNAL = "13"
UNKNOWN = "2"


class Hurried(Http1Connection):
    head_seconds = 0.2
    idle_seconds = 0.2


async def test_a_grpc_call_is_answered_and_ends_with_its_status_in_trailers() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        heard = await caller.ask(INFO)
        assert heard.headers[":status"] == "200"
        assert heard.headers["content-type"].startswith("application/grpc")
        assert b"1.2.3" in heard.body
        assert heard.trailers["grpc-status"] == "0"
        assert "server" not in heard.headers


async def test_connect_and_the_page_are_answered_over_http2_too() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        stream_id = caller.call(INFO, {**JSON_BODY, **bearer(TOKEN)}, b"{}")
        await caller.until(lambda: caller.heard[stream_id].over)
        assert b'"version"' in caller.heard[stream_id].body
        health = await caller.ask("/healthz", {}, method="HEAD")
        assert (health.headers[":status"], health.body, health.ended) == ("200", b"", True)
        missing = await caller.ask("/nothing", {}, method="GET")
        assert missing.headers[":status"] == "404"


async def test_http11_is_answered_on_the_same_port_as_before() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        assert (await caller.ask(INFO)).grpc_status == "0"
        assert (await door.info(bearer(TOKEN))).status == 200


@pytest.mark.parametrize("sign", [{}, bearer("another"), {"authorization": TOKEN}])
async def test_grpc_without_the_token_is_refused_in_the_words_of_grpc(sign: dict[str, str]) -> None:
    async with open_door() as door, http2_caller(door) as caller:
        heard = await caller.ask(INFO, {**GRPC, **sign})
        assert (heard.headers[":status"], heard.grpc_status) == ("200", UNAUTHENTICATED)
        assert "token" in heard.headers["grpc-message"]
        assert door.service.calls == []


@pytest.mark.parametrize("authority", ["evil.example", "evil.example:{port}", "127.0.0.1:1"])
async def test_the_authority_of_a_call_is_the_host_that_is_checked(authority: str) -> None:
    async with open_door() as door, http2_caller(door) as caller:
        name = authority.format(port=door.port)
        assert (await caller.ask(INFO, authority=name)).grpc_status == PERMISSION_DENIED
        plain = await caller.ask("/healthz", {}, method="GET", authority=name)
        assert plain.headers[":status"] == "403"


async def test_an_authority_is_not_made_good_by_a_host() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        caller.call(INFO, {**SIGNED, "host": f"localhost:{door.port}"}, authority="evil.example")
        assert await caller.until_goodbye() is ErrorCodes.PROTOCOL_ERROR
        assert door.service.calls == []


async def test_a_foreign_origin_is_refused_over_http2_too() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        heard = await caller.ask(INFO, {**SIGNED, "origin": "https://evil.example"})
        assert heard.grpc_status == PERMISSION_DENIED


async def test_an_error_of_the_service_comes_in_the_shape_of_grpc() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        heard = await caller.ask(START)
        assert (heard.headers[":status"], heard.trailers["grpc-status"]) == ("200", UNKNOWN)


async def test_a_failure_inside_tells_the_caller_nothing() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("the secret")

    async with open_door(service=broken) as door, http2_caller(door) as caller:
        heard = await caller.ask(INFO)
        assert heard.grpc_status == INTERNAL
        assert "secret" not in str(heard.headers)


async def test_many_calls_go_on_at_once() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        watching = [caller.call(WATCH) for _ in range(50)]
        await caller.until(lambda: all(caller.heard[one].body for one in watching))
        assert (await caller.ask(INFO)).grpc_status == "0"
        assert not any(caller.heard[one].over for one in watching)


async def test_a_call_beyond_the_most_at_once_does_not_reach_the_service() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        caller.frames.remote_settings[3] = 1000  # a caller that does not care for the server's settings
        caller.frames.remote_settings.acknowledge()
        for _ in range(101):
            caller.call(WATCH)
        assert await caller.until_goodbye() is not None
        assert len(door.service.calls) <= 100


async def test_a_body_beyond_the_limit_is_refused_before_the_rest_is_read() -> None:
    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async with open_door(service=reads) as door, http2_caller(door) as caller:
        stream_id = caller.call(INFO, body=None)
        heard, sent = caller.heard[stream_id], 0
        while sent < MAX_BODY_BYTES * 2 and not heard.over:
            size = min(caller.frames.local_flow_control_window(stream_id), 16_384)
            if size:
                caller.frames.send_data(stream_id, bytes(size))
                caller.flush()
                sent += size
            else:
                await caller.read()
        await caller.until(lambda: heard.over)
        assert heard.grpc_status == RESOURCE_EXHAUSTED
        assert sent <= MAX_BODY_BYTES + 2 * 65_535
        assert (await caller.ask("/healthz", {}, method="GET")).headers[":status"] == "200"


async def test_a_body_that_nobody_wants_is_not_waited_for() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        stream_id = caller.call(INFO, GRPC, bytes(10_000), end=False)
        await caller.until(lambda: caller.heard[stream_id].reset is not None)
        assert caller.heard[stream_id].grpc_status == UNAUTHENTICATED
        assert caller.heard[stream_id].reset is ErrorCodes.NO_ERROR
        assert (await caller.ask(INFO)).grpc_status == "0"


async def test_bodies_that_nobody_wanted_take_no_room_from_those_that_follow() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        for _ in range(150):
            stream_id = caller.call(INFO, GRPC, None)
            for last in (False, False, True):
                caller.frames.send_data(stream_id, bytes(16_000), end_stream=last)
            caller.flush()
            await caller.until(lambda: caller.heard[stream_id].over)  # noqa: B023
            assert caller.heard[stream_id].grpc_status == UNAUTHENTICATED
        assert caller.frames.outbound_flow_control_window > 65_535


async def test_a_length_beyond_the_limit_is_refused_unread() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        stream_id = caller.call(INFO, {**SIGNED, "content-length": str(MAX_BODY_BYTES + 1)}, None)
        await caller.until(lambda: caller.heard[stream_id].over)
        assert caller.heard[stream_id].grpc_status == RESOURCE_EXHAUSTED


async def test_open_streams_end_properly_when_the_server_stops() -> None:
    async with open_door() as door, http2_caller(door) as caller:
        stream_id = caller.call(WATCH)
        await caller.until(lambda: caller.heard[stream_id].body != b"")
        door.server.stop()
        assert await caller.until_goodbye() is ErrorCodes.NO_ERROR
        assert caller.heard[stream_id].trailers["grpc-status"] == "0"
        async with asyncio.timeout(DEADLINE):
            await door.running


async def test_a_call_after_the_goodbye_is_refused_while_others_go_on() -> None:
    held = asyncio.Event()

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    async with open_door(service=waits) as door, http2_caller(door) as caller:
        busy = caller.call(INFO)
        await caller.until(lambda: caller.frames.remote_settings.max_concurrent_streams == 100)
        door.server.stop()
        await caller.until(lambda: caller.goodbye is ErrorCodes.NO_ERROR)
        late = caller.call(INFO)
        await caller.until(lambda: caller.heard[late].over)
        assert caller.heard[late].reset is ErrorCodes.REFUSED_STREAM
        held.set()
        await caller.until_goodbye()
        assert caller.heard[busy].body == b"late"


async def test_a_call_that_fails_midway_is_reset_and_harms_no_other() -> None:
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"so far", "more_body": True})
        raise RuntimeError("the insides")

    async with open_door(service=breaks) as door, http2_caller(door) as caller:
        heard = await caller.ask(INFO)
        assert (heard.body, heard.reset) == (b"so far", ErrorCodes.INTERNAL_ERROR)
        assert (await caller.ask("/healthz", {}, method="GET")).headers[":status"] == "200"


async def test_a_caller_that_takes_its_call_back_is_gone_for_the_service() -> None:
    gone = asyncio.Event()

    async def listens(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async with open_door(service=listens) as door, http2_caller(door) as caller:
        stream_id = caller.call(INFO)
        caller.frames.reset_stream(stream_id, ErrorCodes.CANCEL)
        caller.flush()
        async with asyncio.timeout(DEADLINE):
            await gone.wait()
        assert (await caller.ask("/healthz", {}, method="GET")).headers[":status"] == "200"


async def test_first_words_may_come_in_parts() -> None:
    async with open_door() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        caller = Http2Caller(reader, writer, door.port)
        caller.frames.initiate_connection()
        words = caller.frames.data_to_send()
        for start, end in ((0, 1), (1, 3), (3, 20), (20, len(words))):
            writer.write(words[start:end])
            assert (await door.ask("GET", "/healthz")).status == 200
        assert (await caller.ask(INFO)).grpc_status == "0"
        writer.close()


async def test_half_of_the_first_words_are_given_no_more_time_than_a_head() -> None:
    async with open_door(connection=Hurried) as door, door.caller() as caller:
        caller.writer.write(PREFACE[:10])
        assert await caller.is_closed()


async def test_words_that_only_begin_like_http2_are_refused() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.writer.write(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
        assert (await caller.reply_head())[0] in (400, 403)


async def test_a_connection_without_calls_is_closed_in_good_order() -> None:
    async with open_door(connection=Hurried) as door, http2_caller(door) as caller:
        assert (await caller.ask(INFO)).grpc_status == "0"
        assert await caller.until_goodbye() is ErrorCodes.NO_ERROR


async def test_a_stream_that_is_open_keeps_its_connection() -> None:
    async with open_door(connection=Hurried) as door, http2_caller(door) as caller:
        stream_id = caller.call(WATCH)
        async with http2_caller(door) as idle:
            await idle.until_goodbye()
        assert not caller.heard[stream_id].over
        door.closing.set()
        await caller.until(lambda: caller.heard[stream_id].over)
        assert caller.heard[stream_id].grpc_status == "0"


async def test_an_answer_is_sent_at_once_and_not_held_back_for_more() -> None:
    with listen(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
