"""Requests that make no sense are the caller's mistake: 400, one line in the log, and the next call is answered."""

import logging
from pathlib import Path

import pytest

from portico.app.program_log import CollapsedTracebacks
from tests.doors.http.support import INFO, JSON_BODY, START, TOKEN, WATCH, bearer, open_door

SIGNED = {**JSON_BODY, **bearer(TOKEN)}
BAD = (400, "invalid_argument")


@pytest.mark.parametrize(
    "header",
    ["content-encoding", "connect-timeout-ms", "connect-protocol-version", "accept-encoding", "x-anything"],
)
async def test_headers_that_are_not_text_are_refused(header: str) -> None:
    async with open_door() as door:
        reply = await door.ask("POST", INFO, {**SIGNED, header: "\xff"}, body=b"{}")
        assert reply.refusal == BAD
        assert (await door.info(bearer(TOKEN))).status == 200


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"workspace":"\xff"}'),
        ("application/json", b"\xff\xfe{\x00}\x00"),
        ("application/json", b'{"workspace":"\\ud800"}'),
        ("application/json", b"[" * 100_000),
        ("application/json", b'{"workspace":' + b"[" * 100_000),
        ("application/json", b'{"x":' * 100_000),
        ("application/proto", b"\x0a\x01\xff"),
        ("application/proto", b"\x0b" * 100_000),
    ],
)
async def test_bodies_that_are_not_text_or_nest_too_deep_are_refused(content_type: str, body: bytes) -> None:
    async with open_door() as door:
        headers = {**bearer(TOKEN), "content-type": content_type}
        assert (await door.ask("POST", START, headers, body=body)).refusal == BAD
        assert door.service.calls == []
        assert (await door.info(bearer(TOKEN))).status == 200


async def test_a_stream_that_nests_too_deep_is_refused_too() -> None:
    body = b"[" * 100_000
    framed = b"\x00" + len(body).to_bytes(4, "big") + body
    async with open_door() as door:
        headers = {**bearer(TOKEN), "content-type": "application/connect+json"}
        reply = await door.ask("POST", WATCH, headers, body=framed)
        assert b"invalid_argument" in reply.body


async def test_long_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<html>")
    async with open_door(tmp_path) as door:
        assert (await door.ask("GET", "/" + "x" * 5000)).refusal == BAD
        assert (await door.ask("GET", "/" + "x" * 300)).status == 404
        assert (await door.ask("GET", "/")).status == 200


async def test_a_request_with_two_lengths_is_refused_and_its_connection_ended() -> None:
    async with open_door() as door, door.caller() as caller:
        both = {"content-length": "2", "transfer-encoding": "chunked"}
        caller.send_head("POST", INFO, {**SIGNED, **both})
        caller.writer.write(b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await caller.reply()).refusal == BAD
        assert await caller.is_closed()
        assert door.service.calls == []


def failing(depth: int) -> None:
    if depth:
        failing(depth - 1)
    raise ValueError("on\nand on")


def test_a_failure_that_comes_again_is_one_line_of_the_log() -> None:
    now = [0.0]
    collapsed = CollapsedTracebacks(lambda: now[0])

    def logged() -> str:
        with pytest.raises(ValueError, match="on") as raised:
            failing(20)
        raised_as = (raised.type, raised.value, raised.tb)
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed path=%r", ("/a",), raised_as)
        assert collapsed.filter(record)
        return logging.Formatter().format(record)

    assert "Traceback" in logged()
    assert (
        logged()
        == "failed path='/a': ValueError: on and on (test_refused_requests.py:LINE, as before)".replace(
            "LINE", str(failing.__code__.co_firstlineno + 3)
        )
    )
    now[0] = 61.0
    assert "Traceback" in logged()
