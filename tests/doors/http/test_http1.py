"""HTTP/1.1 as clients use it: several requests on one connection, bodies in pieces, broken requests."""

import asyncio

from portico.doors.http.asgi import Receive, Scope, Send
from tests.doors.http.support import INFO, TOKEN, bearer, open_door


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the method and the body of the request."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    answer = scope["method"].encode() + b" " + body
    length = (b"content-length", b"%d" % len(answer))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": answer})


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with open_door(service=echo) as door, door.caller() as caller:
        for word in (b"one", b"three", b"fifth"):
            caller.send_head("POST", INFO, {**bearer(TOKEN), "content-length": str(len(word))})
            caller.writer.write(word)
        answers = [(await caller.reply("POST")).body for _ in range(3)]
        assert answers == [b"POST one", b"POST three", b"POST fifth"]


async def test_a_body_in_pieces_is_whole_for_the_app() -> None:
    async with open_door(service=echo) as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**bearer(TOKEN), "transfer-encoding": "chunked"})
        for piece in (b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n"):
            caller.writer.write(piece)
            await caller.writer.drain()
        assert (await caller.reply("POST")).body == b"POST abcde"


async def test_a_client_that_waits_for_leave_to_send_its_body_is_told_to() -> None:
    async with open_door(service=echo) as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**bearer(TOKEN), "content-length": "2", "expect": "100-continue"})
        assert (await caller.reply_head())[0] == 100
        caller.writer.write(b"hi")
        assert (await caller.reply("POST")).body == b"POST hi"


async def test_a_large_body_waits_for_an_app_that_reads_late() -> None:
    reads = asyncio.Event()

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        await reads.wait()
        await echo(scope, receive, send)

    body = b"x" * 3_000_000
    async with open_door(service=late) as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**bearer(TOKEN), "content-length": str(len(body))})
        caller.writer.write(body)
        assert (await door.ask("GET", "/healthz")).status == 200
        reads.set()
        assert len((await caller.reply("POST")).body) == len(b"POST ") + len(body)


async def test_a_response_without_a_body_leaves_the_connection_usable() -> None:
    async with open_door() as door, door.caller() as caller:
        assert (await caller.ask("HEAD", "/healthz")).status == 200
        assert (await caller.ask("POST", "/auth", bearer(TOKEN))).status == 204
        reply = await caller.ask("GET", "/healthz")
        assert reply.status == 200
        assert reply.headers["date"].endswith("GMT")


async def test_a_client_that_asks_for_it_gets_its_connection_closed() -> None:
    async with open_door() as door, door.caller() as caller:
        reply = await caller.ask("GET", "/healthz", {"connection": "close"})
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert await caller.is_closed()


async def test_a_body_that_breaks_off_into_nonsense_ends_the_call() -> None:
    async with open_door(service=echo) as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**bearer(TOKEN), "transfer-encoding": "chunked"})
        caller.writer.write(b"not a length\r\n")
        assert (await caller.reply_head())[0] == 400
        assert await caller.is_closed()
        assert (await door.ask("GET", "/healthz")).status == 200


async def test_a_response_that_is_not_finished_closes_the_connection() -> None:
    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10")]})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})

    async with open_door(service=half) as door, door.caller() as caller:
        caller.send_head("POST", INFO, {**bearer(TOKEN), "content-length": "0"})
        assert (await caller.reply_head())[0] == 200
        assert await caller.is_closed()
