"""The order rules of a connection, each forced, and what happens to what the protocol does not allow."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec import Raw

from portico.domain import codecs
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.frames import LineFrames, frame_pair
from portico.rpc.framing import MAX_LINE, LineSplitter
from portico.rpc.messages import (
    METHOD_NOT_FOUND,
    ConnectionLost,
    Fault,
    Message,
    RpcError,
    notification,
    response,
)
from portico.rpc.streams import MemoryStream, memory_pair
from tests.support.looping import until


class Recorder:
    """A handler that writes down what it sees, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.faults: list[Fault] = []
        self.serve: Callable[[str, Raw], Awaitable[RpcReply]] = self._refuse
        self.gate: asyncio.Event | None = None

    def notification(self, method: str, params: Raw) -> None:
        self.seen.append(f"{method} {bytes(params).decode()}")

    async def request(self, method: str, params: Raw) -> RpcReply:
        return await self.serve(method, params)

    def fault(self, fault: Fault) -> None:
        self.faults.append(fault)
        self.seen.append(f"fault {fault.kind}")

    async def ready(self) -> None:
        if self.gate is not None:
            await self.gate.wait()

    async def _refuse(self, method: str, params: Raw) -> RpcReply:
        raise RpcError(METHOD_NOT_FOUND, f"no {method}")


class Wire:
    """A connection under test and the raw other end of its wire."""

    def __init__(self, connection: RpcConnection, handler: Recorder, far: MemoryStream) -> None:
        self.connection = connection
        self.handler = handler
        self.far = far
        self._lines: list[bytes] = []

    def send(self, *lines: str | bytes) -> None:
        self.far.write(b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines))

    async def receive(self) -> dict[str, object]:
        async with asyncio.timeout(5):
            while not self._lines:
                self._lines = [line for line in (await self.far.read()).split(b"\n") if line]
        message: dict[str, object] = codecs.decode_json(self._lines.pop(0))
        return message

    async def end(self) -> None:
        """Close the far end and wait until the connection has seen all of it."""
        await self.far.close()


@asynccontextmanager
async def wire(max_line: int = 1_000_000) -> AsyncIterator[Wire]:
    near, far = memory_pair()
    handler = Recorder()
    connection = RpcConnection(LineFrames(near, LineSplitter(max_line)), handler, name="peer")
    running = asyncio.create_task(connection.run())
    try:
        yield Wire(connection, handler, far)
    finally:
        await far.close()
        async with asyncio.timeout(5):
            await running


def note(number: int) -> str:
    return f'{{"jsonrpc":"2.0","method":"note","params":{number}}}'


async def test_notifications_are_handled_in_the_order_received() -> None:
    async with wire() as peer:
        peer.send(*(note(number) for number in range(1000)))
    assert peer.handler.seen == [f"note {number}" for number in range(1000)]


async def test_a_response_wakes_its_caller_after_every_earlier_and_before_any_later_notification() -> None:
    async with wire() as peer:

        async def call() -> None:
            await peer.connection.request("ask", {})
            peer.handler.seen.append("answered")

        calling = asyncio.create_task(call())
        assert (await peer.receive())["id"] == 1
        peer.send(note(1), note(2), '{"jsonrpc":"2.0","id":1,"result":null}', note(3))
        await calling
    assert peer.handler.seen == ["note 1", "note 2", "answered", "note 3"]


async def test_the_order_is_the_same_when_frames_travel_in_memory() -> None:
    near, far = frame_pair()
    handler = Recorder()
    connection = RpcConnection(near, handler, name="peer")
    running = asyncio.create_task(connection.run())

    async def call() -> None:
        await connection.request("ask", {})
        handler.seen.append("answered")

    calling = asyncio.create_task(call())
    (asked,) = await far.receive()
    assert isinstance(asked, Message)
    far.write(note(1).encode() + b"\n")
    far.send(notification("note", 2))
    far.send(response(asked.id, None))  # type: ignore[arg-type]
    far.send(notification("note", 3))
    await calling
    await far.close()
    await running
    assert handler.seen == ["note 1", "note 2", "answered", "note 3"]


async def test_a_handler_that_waits_for_the_peer_does_not_block_the_reader() -> None:
    async with wire() as peer:

        async def serve(method: str, params: Raw) -> RpcReply:
            return RpcReply(await peer.connection.request("back", {}))

        peer.handler.serve = serve
        peer.send('{"jsonrpc":"2.0","id":"a","method":"there","params":{}}')
        back = await peer.receive()
        assert back["method"] == "back"
        peer.send(note(1), f'{{"jsonrpc":"2.0","id":{back["id"]},"result":7}}')
        assert await peer.receive() == {"jsonrpc": "2.0", "id": "a", "result": 7}
    assert peer.handler.seen == ["note 1"]


async def test_requests_are_answered_as_they_finish_not_as_they_came() -> None:
    async with wire() as peer:
        slow = asyncio.Event()

        async def serve(method: str, params: Raw) -> RpcReply:
            if method == "slow":
                await slow.wait()
            return RpcReply(method)

        peer.handler.serve = serve
        peer.send(
            '{"jsonrpc":"2.0","id":1,"method":"slow","params":{}}',
            '{"jsonrpc":"2.0","id":2,"method":"quick","params":{}}',
        )
        assert (await peer.receive())["result"] == "quick"
        slow.set()
        assert (await peer.receive())["result"] == "slow"


async def test_what_follows_an_answer_is_written_after_it() -> None:
    async with wire() as peer:

        async def serve(method: str, params: Raw) -> RpcReply:
            return RpcReply("new", lambda: peer.connection.notify("first", {}))

        peer.handler.serve = serve
        peer.send('{"jsonrpc":"2.0","id":1,"method":"new","params":{}}')
        assert (await peer.receive())["result"] == "new"
        assert (await peer.receive())["method"] == "first"


async def test_a_handler_that_is_not_ready_holds_the_peer_back() -> None:
    async with wire() as peer:
        gate = peer.handler.gate = asyncio.Event()
        peer.send(note(1))
        await until(lambda: peer.handler.seen)
        peer.send(*(note(number) for number in range(20_000)))
        held = asyncio.create_task(peer.far.drain())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not held.done()
        assert peer.handler.seen == ["note 1"]
        gate.set()
        async with asyncio.timeout(5):
            await held


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("this is no JSON", "not_json"),
        ("[1, 2]", "not_a_message"),
        ("null", "not_a_message"),
        ('{"jsonrpc":"2.0","id":{},"method":"x"}', "not_a_message"),
        ('{"jsonrpc":"2.0"}', "not_a_message"),
        ('{"jsonrpc":"2.0","id":4}', "not_a_message"),
        ('{"jsonrpc":"2.0","id":99,"result":1}', "unknown_response"),
        (b'{"jsonrpc":"2.0","method":"\xff\xfe"}', "not_utf8"),
        (b'{"jsonrpc":"2.0","method":"a\x00b"}', "not_json"),
        ("[" * 100_000, "not_a_message"),
        ('{"jsonrpc":"2.0","method":"x","params":' + "[" * 100_000, "not_json"),
        ("x" * 5000, "too_long"),
    ],
)
async def test_what_is_malformed_is_passed_over_and_the_connection_goes_on(
    line: str | bytes, kind: str
) -> None:
    limit = 4096 if kind == "too_long" else 1_000_000
    async with wire(max_line=limit) as peer:
        peer.send(note(1), line, note(2))
    assert peer.handler.seen == ["note 1", f"fault {kind}", "note 2"]


@pytest.mark.parametrize(
    "line",
    [
        r'{"jsonrpc":"2.0","id":8,"method":"read","params":{"path":"\ud800"}}',
        '{"jsonrpc":"2.0","id":8,"method":["not","a","name"]}',
    ],
)
async def test_a_request_that_cannot_be_decoded_is_refused_so_that_its_sender_does_not_wait(
    line: str,
) -> None:
    async with wire() as peer:
        peer.send(line)
        answer = await peer.receive()
        assert answer["id"] == 8
        assert codecs.convert(answer["error"], dict)["code"] == -32600
    assert len(peer.handler.faults) == 1


RUINED_ANSWERS = [
    b'{"jsonrpc":"2.0","id":1,"result":{"cost":NaN}}',
    rb'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"cut \ud83d"}}',
    b'{"jsonrpc":"2.0","id":1,"result":"\xff"}',
    b'{"jsonrpc":"2.0","id":1,"error":"it failed"}',
    b'{"jsonrpc":"2.0","id":1,"error":null}',
    b'{"jsonrpc":"2.0","id":1}',
]


@pytest.mark.parametrize("line", RUINED_ANSWERS)
async def test_a_caller_whose_answer_cannot_be_decoded_is_told_so_and_does_not_wait(line: bytes) -> None:
    async with wire() as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send(line)
        with pytest.raises(RpcError, match="the answer is malformed"):
            await asyncio.wait_for(calling, 5)
    assert len(peer.handler.faults) == 1


LONG = '"%s"' % ("x" * 5000)


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc":"2.0","id":1,"result":{LONG}}}',
        f'{{ "id": 1, "jsonrpc": "2.0", "result": {LONG} }}',
        f'{{"result":{LONG},"id":1,"jsonrpc":"2.0"}}',
        f'{{"jsonrpc":"2.0","error":{{"code":1,"message":{LONG}}},"id":1}}',
    ],
)
async def test_a_caller_whose_answer_is_too_long_is_told_so_and_does_not_wait(line: str) -> None:
    async with wire(max_line=4096) as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send(line)
        with pytest.raises(RpcError, match=r"a line of 50.. bytes is too long"):
            await asyncio.wait_for(calling, 5)
    assert peer.handler.seen == ["fault too_long"]


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc":"2.0","id":8,"method":"write","params":{{"content":{LONG}}}}}',
        f'{{"jsonrpc":"2.0","method":"write","params":{{"content":{LONG}}},"id":8}}',
        f'{{"id":8,"params":{{"content":{LONG}}},"method":"write"}}',
    ],
)
async def test_a_request_that_is_too_long_is_refused_so_that_its_sender_does_not_wait(line: str) -> None:
    async with wire(max_line=4096) as peer:
        peer.send(line)
        answer = await peer.receive()
        assert answer["id"] == 8
        assert "bytes is too long" in str(answer["error"])
    assert peer.handler.seen == ["fault too_long"]


async def test_what_a_long_text_says_is_not_taken_for_the_id_of_its_message() -> None:
    text = json.dumps('","id":1} {"id":1,' + "x" * 5000 + ',"id":1}')
    async with wire(max_line=4096) as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send(f'{{"jsonrpc":"2.0","method":"note","params":{text}}}')
        peer.send('{"jsonrpc":"2.0","id":1,"result":"well"}')
        assert bytes(await asyncio.wait_for(calling, 5)) == b'"well"'


async def test_an_answer_that_says_beside_its_result_that_there_was_no_error_is_one() -> None:
    async with wire() as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send('{"jsonrpc":"2.0","id":1,"result":7,"error":null}')
        assert bytes(await asyncio.wait_for(calling, 5)) == b"7"
    assert peer.handler.faults == []


async def test_a_line_of_fifty_megabytes_is_passed_over_without_being_kept() -> None:
    async with wire(max_line=MAX_LINE) as peer:
        piece = b"x" * 1_000_000
        for _ in range(50):
            peer.far.write(piece)
            await peer.far.drain()
        peer.send("", note(1))
    assert [fault.size for fault in peer.handler.faults] == [50_000_000]
    assert peer.handler.seen[-1] == "note 1"


async def test_a_second_request_with_an_id_that_is_in_use_is_passed_over() -> None:
    async with wire() as peer:
        release = asyncio.Event()

        async def serve(method: str, params: Raw) -> RpcReply:
            await release.wait()
            return RpcReply(method)

        peer.handler.serve = serve
        peer.send(
            '{"jsonrpc":"2.0","id":5,"method":"first","params":{}}',
            '{"jsonrpc":"2.0","id":5,"method":"second","params":{}}',
            note(1),
        )
        await until(lambda: len(peer.handler.seen) == 2)
        release.set()
        assert (await peer.receive())["result"] == "first"
    assert peer.handler.seen == ["fault duplicate_id", "note 1"]


async def test_a_second_answer_to_one_request_is_passed_over() -> None:
    async with wire() as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send('{"jsonrpc":"2.0","id":1,"result":1}', '{"jsonrpc":"2.0","id":1,"result":2}')
        assert bytes(await calling) == b"1"
    assert [fault.kind for fault in peer.handler.faults] == ["unknown_response"]


async def test_a_cancelled_call_is_cancelled_at_the_peer_and_its_late_answer_is_no_fault() -> None:
    async with wire() as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        told = await peer.receive()
        assert (told["method"], told["params"]) == ("$/cancel_request", {"requestId": 1})
        peer.send('{"jsonrpc":"2.0","id":1,"result":1}')
    assert peer.handler.faults == []


async def test_a_request_that_the_peer_cancels_is_answered_as_cancelled() -> None:
    async with wire() as peer:
        started = asyncio.Event()

        async def serve(method: str, params: Raw) -> RpcReply:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        peer.handler.serve = serve
        peer.send('{"jsonrpc":"2.0","id":"q","method":"long","params":{}}')
        await started.wait()
        peer.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}')
        answer = await peer.receive()
        assert answer["id"] == "q"
        assert codecs.convert(answer["error"], dict)["code"] == -32800


async def test_a_request_that_is_cancelled_before_it_is_served_is_answered_as_well() -> None:
    async with wire() as peer:
        peer.send(
            '{"jsonrpc":"2.0","id":"q","method":"long","params":{}}',
            '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}',
        )
        answer = await peer.receive()
        assert answer["id"] == "q"
        assert codecs.convert(answer["error"], dict)["code"] == -32800


async def test_callers_and_handlers_end_when_the_peer_goes_away() -> None:
    async with wire() as peer:
        started, ended = asyncio.Event(), asyncio.Event()

        async def serve(method: str, params: Raw) -> RpcReply:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

        peer.handler.serve = serve
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send('{"jsonrpc":"2.0","id":1,"method":"long","params":{}}')
        await started.wait()
        await peer.end()
        with pytest.raises(ConnectionLost):
            await calling
        async with asyncio.timeout(5):
            await ended.wait()
        with pytest.raises(ConnectionLost):
            await peer.connection.request("again", {})


async def test_an_error_answer_reaches_the_caller_with_its_code_and_data() -> None:
    async with wire() as peer:
        calling = asyncio.create_task(peer.connection.request("ask", {}))
        await peer.receive()
        peer.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"sign in","data":{"a":1}}}')
        with pytest.raises(RpcError) as caught:
            await calling
    assert (caught.value.code, caught.value.message, bytes(caught.value.data)) == (
        -32000,
        "sign in",
        b'{"a":1}',
    )


async def test_a_handler_that_fails_answers_with_an_error_and_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with wire() as peer:

        async def serve(method: str, params: Raw) -> RpcReply:
            raise LookupError("secret detail")

        peer.handler.serve = serve
        peer.send('{"jsonrpc":"2.0","id":1,"method":"x","params":{}}')
        answer = await peer.receive()
    assert answer["error"] == {"code": -32603, "message": "x failed: LookupError"}
    assert "secret detail" in caplog.text


async def test_a_tap_sees_every_frame_both_ways() -> None:
    near, far = memory_pair()
    seen: list[tuple[str, bytes]] = []
    connection = RpcConnection(
        near, Recorder(), name="peer", tap=lambda direction, data: seen.append((direction, data))
    )
    running = asyncio.create_task(connection.run())
    connection.notify("hello", {"n": 1})
    far.write(note(1).encode() + b"\n")
    await far.close()
    await running
    assert seen == [
        ("sent", b'{"jsonrpc":"2.0","method":"hello","params":{"n":1}}\n'),
        ("received", note(1).encode()),
    ]


@pytest.mark.parametrize(
    "garbage", [bytes(range(256)) * 4, base64.b64decode("AAECAw=="), b"\n" * 50, b"{}\n" * 9]
)
async def test_garbage_never_ends_a_connection(garbage: bytes) -> None:
    async with wire() as peer:
        peer.far.write(garbage)
        peer.send("", note(7))
    assert peer.handler.seen[-1] == "note 7"
