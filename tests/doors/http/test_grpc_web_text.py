"""gRPC-Web in Base64, byte by byte: calls, streams as they come, errors, and requests in odd pieces."""

import asyncio
import base64
import json

import pytest

from portico.api.v1.agent_pb import GetServerInfoResponse
from tests.doors.http.support import INFO, START, TOKEN, WATCH, Reply, bearer, open_door
from tests.support.editor import PEERS, node
from tests.support.looping import until

TEXT = {**bearer(TOKEN), "content-type": "application/grpc-web-text", "accept": "application/grpc-web-text"}
EMPTY = b"\x00\x00\x00\x00\x00"


def in_groups(text: bytes) -> bytes:
    """Decoded Base64 that may have padding inside."""
    return b"".join(base64.b64decode(text[start : start + 4]) for start in range(0, len(text), 4))


def messages(reply: Reply) -> list[tuple[int, bytes]]:
    """The frames of an answer: flags and content."""
    data, found = in_groups(reply.body), []
    while data:
        size = int.from_bytes(data[1:5], "big")
        found.append((data[0], data[5 : 5 + size]))
        data = data[5 + size :]
    return found


@pytest.mark.parametrize("suffix", ["", "+proto"])
async def test_a_call_is_answered_in_text_and_ends_with_its_trailers(suffix: str) -> None:
    async with open_door() as door:
        headers = {**TEXT, "content-type": f"application/grpc-web-text{suffix}"}
        reply = await door.ask("POST", INFO, headers, body=base64.b64encode(EMPTY))
    assert reply.status == 200
    assert reply.headers["content-type"].startswith(f"application/grpc-web-text{suffix}")
    (data_flags, data), (end_flags, end) = messages(reply)
    assert (data_flags, GetServerInfoResponse.from_binary(data).version) == (0, "1.2.3")
    assert (end_flags, b"grpc-status: 0" in end) == (0x80, True)


async def test_an_error_is_told_in_the_trailers() -> None:
    async with open_door() as door:
        reply = await door.ask("POST", START, TEXT, body=base64.b64encode(EMPTY))
    (flags, end) = messages(reply)[-1]
    assert flags == 0x80
    assert b"grpc-status: 2" in end


async def test_a_stream_comes_piece_by_piece_and_each_can_be_decoded_at_once() -> None:
    async with open_door() as door, door.caller() as caller:
        body = base64.b64encode(EMPTY)
        caller.send_head("POST", WATCH, {**TEXT, "content-length": str(len(body))})
        caller.writer.write(body)
        status, headers = await caller.reply_head()
        assert (status, headers["content-type"]) == (200, "application/grpc-web-text+proto")
        pieces = caller.chunks()
        first = await anext(pieces)
        assert len(first) % 4 == 0
        assert in_groups(first)[0] == 0
        door.closing.set()
        last = b"".join([piece async for piece in pieces])
        assert b"grpc-status: 0" in in_groups(last)


@pytest.mark.parametrize(
    "body",
    [
        base64.b64encode(EMPTY[:1]) + base64.b64encode(EMPTY[1:]),
        base64.b64encode(EMPTY[:3]) + b"\r\n" + base64.b64encode(EMPTY[3:]),
    ],
    ids=["two padded pieces", "a line break"],
)
async def test_a_request_may_be_put_together_from_pieces(body: bytes) -> None:
    async with open_door() as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**TEXT, "transfer-encoding": "chunked"})
        for byte in body:
            caller.writer.write(b"1\r\n%c\r\n" % byte)
            await caller.writer.drain()
        caller.writer.write(b"0\r\n\r\n")
        assert messages(await caller.reply())[0][0] == 0


@pytest.mark.parametrize("body", [b"", b"!", b"====", b"AAAA=AAA", b"AAA", b"\xff" * 50])
async def test_what_is_no_base64_is_the_callers_mistake(body: bytes) -> None:
    async with open_door() as door:
        end = messages(await door.ask("POST", INFO, TEXT, body=body))[-1][1]
        assert b"grpc-status: 0" not in end
        assert b"grpc-status: 2" not in end
        assert door.service.calls == []


async def test_nobody_is_heard_without_the_token() -> None:
    async with open_door() as door:
        headers = {"content-type": "application/grpc-web-text"}
        assert (await door.ask("POST", INFO, headers, body=base64.b64encode(EMPTY))).status == 401


async def test_googles_own_client_calls_and_watches_in_text() -> None:
    async with open_door() as door:
        client = await asyncio.create_subprocess_exec(
            node(), str(PEERS / "grpc_web_client.mjs"), door.origin, TOKEN, stdout=asyncio.subprocess.PIPE
        )
        assert client.stdout is not None
        async with asyncio.timeout(60):
            lines = [await client.stdout.readline() for _ in range(2)]
            await until(lambda: "watch" in door.service.calls)
            door.closing.set()
            lines += (await client.communicate())[0].splitlines()
    info, failed, *stream = map(json.loads, lines)
    assert GetServerInfoResponse.from_binary(base64.b64decode(info["message"])).version == "1.2.3"
    assert failed == {"call": "StartSession", "code": 2}
    assert "message" in stream[0]
    assert {"stream": "WatchSessions", "status": 0} in stream
