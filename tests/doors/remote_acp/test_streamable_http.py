"""ACP over HTTP: POST and event streams, as the official library uses them, and streams that are lost on the way."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from portico.doors.remote_acp.numbered_events import NumberedEvents
from portico.rpc.replay_buffer import ReplayGone
from portico.rpc.streams import ByteStream
from tests.conformance.correct_agent import CorrectAgent
from tests.doors.http.support import DEADLINE, TOKEN, open_door

PEERS = Path(__file__).parents[2] / "peers"
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
NEW = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}


async def run_agent(client: ByteStream) -> None:
    await CorrectAgent(client, {}).run()


class Call:
    """One HTTP/1.1 call over a connection of its own; the answer of a stream is read event by event."""

    def __init__(self, port: int) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._port = port
        self._rest = b""

    async def open(self, method: str, body: Any = None, **headers: str) -> "Call":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        data = b"" if body is None else json.dumps(body).encode()
        lines = {
            "Host": f"127.0.0.1:{self._port}",
            "Authorization": f"Bearer {TOKEN}",
            "Accept": "text/event-stream" if method == "GET" else "*/*",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "Connection": "close",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        self._writer.write(f"{method} /acp HTTP/1.1\r\n{head}\r\n".encode() + data)
        async with asyncio.timeout(DEADLINE):
            status, *rest = (await self._reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        self.status = int(status.split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        return self

    async def body(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            data = await self._reader.readexactly(int(self.headers["content-length"]))
        self.close()
        return json.loads(data) if data else None

    async def event(self) -> tuple[int, Any]:
        """The next event of a stream: its number and its message."""
        while True:
            block, found, rest = self._rest.partition(b"\n\n")
            if found:
                self._rest = rest
                fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
                if b"id" in fields:
                    return int(fields[b"id"]), json.loads(fields[b"data"])
                continue
            async with asyncio.timeout(DEADLINE):
                size = int((await self._reader.readline()).strip(), 16)
                self._rest += await self._reader.readexactly(size)
                await self._reader.readexactly(2)

    def close(self) -> None:
        self._writer.transport.abort()


async def send(port: int, method: str, body: Any = None, **headers: str) -> int:
    """The status of a call."""
    call = await Call(port).open(method, body, **headers)
    call.close()
    return call.status


async def test_a_client_of_the_official_library_talks_over_http(tmp_path: Path) -> None:
    async with open_door(run_chain=run_agent) as door:
        url = f"http://127.0.0.1:{door.port}/acp"
        client = await asyncio.create_subprocess_exec(
            "node", str(PEERS / "remote_client.mjs"), url, TOKEN, str(tmp_path), "permission",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            out, err = await client.communicate()
    assert client.returncode == 0, err.decode()
    assert json.loads(out)["stopReason"] == "end_turn"
    assert json.loads(out)["asked"] == 1


async def open_connection(port: int) -> str:
    call = await Call(port).open("POST", INITIALIZE)
    assert (call.status, (await call.body())["id"]) == (200, 1)
    return call.headers["acp-connection-id"]


async def test_answers_go_to_the_stream_of_the_connection_and_those_of_a_session_to_its_own() -> None:
    async with open_door(run_chain=run_agent) as door:
        connection = {"Acp_Connection_Id": await open_connection(door.port)}
        assert await send(door.port, "POST", NEW, **connection) == 202
        events = await Call(door.port).open("GET", **connection)
        number, opened = await events.event()
        assert (number, opened["id"]) == (1, 2)
        session = opened["result"]["sessionId"]
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "turn"}]}
        prompt = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params}
        assert await send(door.port, "POST", prompt, **connection) == 202
        turn = await Call(door.port).open("GET", Acp_Session_Id=session, **connection)
        told = [await turn.event()]
        while told[-1][1].get("id") != 3:
            told.append(await turn.event())
        assert [number for number, _ in told] == list(range(1, len(told) + 1))
        assert told[0][1]["method"] == "session/update"
        # A stream that was lost goes on behind the last event that arrived.
        turn.close()
        again = await Call(door.port).open("GET", Acp_Session_Id=session, Last_Event_ID="1", **connection)
        assert [await again.event() for _ in told[1:]] == told[1:]
        assert await send(door.port, "DELETE", **connection) == 202
        assert await send(door.port, "POST", NEW, **connection) == 404
        again.close()
        events.close()


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", INITIALIZE, {"Authorization": ""}, 401),
        ("POST", INITIALIZE, {"Host": "evil.example"}, 403),
        ("POST", INITIALIZE, {"Origin": "http://evil.example"}, 403),
        ("POST", INITIALIZE, {"Content_Type": "text/plain"}, 415),
        ("POST", [INITIALIZE], {}, 400),
        ("POST", NEW, {}, 400),
        ("POST", NEW, {"Acp_Connection_Id": "unknown"}, 404),
        ("GET", None, {"Accept": "text/html"}, 406),
        ("GET", None, {}, 400),
        ("DELETE", None, {"Acp_Connection_Id": "unknown"}, 404),
        ("PUT", None, {}, 405),
    ],
    ids=str,
)
async def test_calls_that_do_not_fit_are_refused(
    method: str, body: Any, headers: dict[str, str], status: int
) -> None:
    async with open_door(run_chain=run_agent) as door:
        call = await Call(door.port).open(method, body, **headers)
        assert call.status == status
        call.close()


async def test_a_chain_that_refuses_to_be_initialized_leaves_no_connection() -> None:
    async def refuse(client: ByteStream) -> None:
        await client.read()
        client.write(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"No"}}\n')
        await client.read()

    async with open_door(run_chain=refuse) as door:
        call = await Call(door.port).open("POST", INITIALIZE)
        assert (call.status, (await call.body())["error"]["message"]) == (200, "No")
        assert "acp-connection-id" not in call.headers


async def test_an_event_stream_keeps_what_was_not_sent_and_forgets_the_oldest_of_the_rest() -> None:
    stream = NumberedEvents(limit=20)
    for number in range(3):
        await stream.put(f"{number}" * 10)
    waiting = asyncio.create_task(stream.put("late"))
    reader = stream.open(None)
    assert await reader.next() == (1, "0" * 10)
    assert not waiting.done()
    assert await reader.next() == (2, "1" * 10)
    await waiting
    assert await reader.next() == (3, "2" * 10)
    with pytest.raises(ReplayGone):
        stream.open(0)
    assert await stream.open(2).next() == (3, "2" * 10)
