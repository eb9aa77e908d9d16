"""MCP servers that the client names: their tools, who is asked, and what happens when a server misbehaves."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from portico.acp import _schema as schema
from portico.mcp import client as mcp_client
from tests.porter.client import DEADLINE, connected, reject
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in
from tests.support.processes import child_scripts
from tests.support.waiting import wait_until

PROGRAM = Path(__file__).with_name("server.py")


NEVER = 1000.0


def server(manners: str = "good", name: str = "math") -> schema.McpServer:
    return schema.McpServer(name=name, command=sys.executable, args=[str(PROGRAM), manners], env=[])


def late_server(gate: Path) -> schema.McpServer:
    """One that answers nothing before there is a file."""
    return schema.McpServer(
        name="math", command=sys.executable, args=[str(PROGRAM), "late", str(gate)], env=[]
    )


def offers_sums(model: ScriptedModel) -> bool:
    return "math__add" in {tool.name for tool in model.requests[-1].tools}


def children() -> list[int]:
    return child_scripts(PROGRAM)


@pytest.mark.parametrize("manners", ["good", "modern"])
async def test_tools_of_a_server_are_offered_and_called_after_asking(
    state: Path, folder: Path, manners: str
) -> None:
    model = ScriptedModel([calls(call("math__add", a=1, b=2)), Say("Three.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server(manners)])
        await client.prompt(session, "add")
        [question] = client.questions
        assert question.tool_call.title == "math: add"
        assert question.tool_call.raw_input == {"a": 1, "b": 2}
        assert "every “add” of math" in question.options[1].name
        assert client.shown(client.calls[0]) == "3"
        assert len(children()) == 1
    assert results_in(model.requests[1]) == ["3"]
    specs = {tool.name: tool for tool in model.requests[0].tools}
    assert specs["math__add"].description == "Adds two numbers."
    assert json.loads(specs["math__add"].schema)["properties"]["a"] == {"type": "number"}
    assert "math__odd_name_" in specs
    assert "math__huge" in specs
    assert children() == []


async def test_a_declined_call_never_reaches_the_server(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__die")), calls(call("math__add", a=1, b=1)), Say("Well.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = reject
        session = await client.open(folder, servers=[server()])
        await client.prompt(session, "go")
        assert len(children()) == 1
    assert "The person declined" in results_in(model.requests[1])[0]


async def test_a_scenario_without_servers_does_not_offer_their_tools(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__add", a=1, b=1)), Say("Well.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server()])
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="ASK"))
        await client.prompt(session, "go")
        assert client.questions == []
    assert 'Unknown tool "math__add".' in results_in(model.requests[1])[0]


async def test_a_result_of_50_mb_is_cut_and_kept(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__huge")), Say("Large.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server()])
        await client.prompt(session, "go")
    [told] = results_in(model.requests[1])
    assert len(told) < 30_000
    assert "of 50000000 characters are omitted" in told


async def test_a_server_that_dies_is_a_result_and_comes_back_next_turn(state: Path, folder: Path) -> None:
    model = ScriptedModel(
        [calls(call("math__die")), Say("Oh."), calls(call("math__add", a=2, b=2)), Say("Four.")]
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server()])
        await client.prompt(session, "one")
        assert await client.prompt(session, "two") == "end_turn"
    assert results_in(model.requests[1]) == ["The MCP server math ended. Its last output: out of memory"]
    assert results_in(model.requests[3]) == ["4"]


@pytest.mark.parametrize(
    ("manners", "told"),
    [
        ("hang", "did not answer initialize within"),
        ("flood", "math was stopped: it writes malformed messages. Have it write its log elsewhere."),
        ("dead", "The MCP server math ended. Its last output: no license"),
    ],
)
async def test_a_server_that_does_not_work_is_told_once_and_the_turn_goes_on(
    state: Path, folder: Path, manners: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_client, "HANDSHAKE_SECONDS", 1.0 if manners == "hang" else 20.0)
    model = ScriptedModel([Say("One."), Say("Two.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server(manners)])
        assert await client.prompt(session, "one") == "end_turn"
        assert await client.prompt(session, "two") == "end_turn"
        [notice] = client.updates(schema.Notice)
        assert told in notice.title
    assert children() == []


async def test_a_silent_server_is_waited_for_once_and_its_tools_come_when_it_answers(
    state: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    model = ScriptedModel([Say("Well.")] * 1000)
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[late_server(gate)])
        monkeypatch.setattr(mcp_client, "HANDSHAKE_SECONDS", 1.0)
        await client.prompt(session, "one")
        [notice] = client.updates(schema.Notice)
        assert notice.title == "The MCP server math did not answer initialize within 1 s."
        assert "does not wait for it again" in notice.description
        assert "switch it off" in notice.description

        monkeypatch.setattr(mcp_client, "HANDSHAKE_SECONDS", NEVER)
        for words in ("two", "three"):
            assert await client.prompt(session, words) == "end_turn"
            assert not offers_sums(model)

        gate.touch()
        async with asyncio.timeout(DEADLINE):
            while not offers_sums(model):
                await client.prompt(session, "and now?")
        assert client.updates(schema.Notice) == [notice]
    assert children() == []


async def test_a_server_that_falls_silent_is_waited_for_once(
    state: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([Say("Well.")] * 3)
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server()])
        await client.prompt(session, "one")
        assert offers_sums(model)
        [before] = children()
        psutil.Process(before).suspend()
        monkeypatch.setattr(mcp_client, "HANDSHAKE_SECONDS", 1.0)
        await client.prompt(session, "two")
        [notice] = client.updates(schema.Notice)
        assert notice.title == "The MCP server math did not list its tools within 1 s."
        assert before not in children()
    assert children() == []


async def test_whoever_stops_a_turn_that_waits_for_a_server_does_not_start_it_again_with_the_next(
    state: Path, folder: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    model = ScriptedModel([Say("Well.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[late_server(gate)])
        async with client.turn(session, "one") as turn:
            await asyncio.to_thread(wait_until, lambda: bool(children()), "the start of the server")
            before = children()
            client.end.cancel(session)
            assert await turn == "cancelled"
        gate.touch()
        await client.prompt(session, "two")
        assert offers_sums(model)
        assert children() == before
    assert children() == []


async def test_a_call_that_hangs_is_ended_with_the_turn(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("math__hang")), Say("Never.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server()])
        async with client.turn(session, "go") as turn:
            await client.until(
                lambda: bool(client.calls) and client.statuses(client.calls[0])[-1] == "in_progress"
            )
            client.end.cancel(session)
            assert await turn == "cancelled"
    assert children() == []


async def test_a_program_that_is_not_there_is_told(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        missing = schema.McpServer(name="gone", command="no-such-program", args=[], env=[])
        strange = schema.McpServer(name="odd", type="sse", url="http://localhost/", headers=[])
        session = await client.open(folder, servers=[missing, strange])
        await client.prompt(session, "hi")
        titles = sorted(notice.title for notice in client.updates(schema.Notice))
        assert titles[0].startswith("The MCP server gone cannot be started")
        assert titles[1] == "The MCP server odd is of the kind 'sse', which Porter does not support."


class Streamable(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    early = 0
    heard: list[tuple[str, dict[str, str]]] = []  # noqa: RUF012 - one list for all requests of a test

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard.append((message["method"], dict(self.headers)))
        match message["method"]:
            case "initialize":
                self._json(message["id"], {"protocolVersion": "2025-06-18", "capabilities": {}})
            case "tools/list":
                self._json(message["id"], {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
            case "tools/call" if self.path == "/early":
                Streamable.early = message["id"]
                self._stream(b"id: e1\nretry: 1\ndata: \n\n")
            case "tools/call":
                self._events(message["id"], {"content": [{"type": "text", "text": "hello"}]})
            case _:
                self._nothing(202)

    def do_GET(self) -> None:
        if "Last-Event-ID" not in self.headers:
            self._nothing(405)
            return
        self.heard.append(("GET", dict(self.headers)))
        self._events(self.early, {"content": [{"type": "text", "text": "late"}]})

    def do_DELETE(self) -> None:
        self.heard.append(("DELETE", dict(self.headers)))
        self.send_response(204)
        self.end_headers()

    def _nothing(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _json(self, number: int, result: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "abc")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self, number: int, result: dict[str, Any]) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        answer = {"jsonrpc": "2.0", "id": number, "result": result}
        messages = (json.dumps(message).encode() for message in (note, answer))
        self._stream(b"".join(b"event: message\ndata: " + message + b"\n\n" for message in messages))

    def _stream(self, events: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(events)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def address() -> Iterator[str]:
    Streamable.heard.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Streamable)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_server_behind_an_address_is_spoken_to_by_http(
    state: Path, folder: Path, address: str
) -> None:
    model = ScriptedModel([calls(call("web__greet")), Say("Hello.")])
    async with connected(state, setup_of=model.setup()) as client:
        header = schema.HttpHeader(name="Authorization", value="Bearer x")
        far = schema.McpServer(name="web", type="http", url=address, headers=[header])
        session = await client.open(folder, servers=[far])
        await client.prompt(session, "greet")
    assert results_in(model.requests[1]) == ["hello"]
    methods = [method for method, _ in Streamable.heard]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"]
    assert all(headers["Authorization"] == "Bearer x" for _, headers in Streamable.heard)
    later = [headers for _, headers in Streamable.heard[1:]]
    assert all(headers["Mcp-Session-Id"] == "abc" for headers in later)
    assert later[-1]["MCP-Protocol-Version"] == "2025-06-18"


async def test_a_stream_that_ends_early_is_taken_up_where_it_ended(
    state: Path, folder: Path, address: str
) -> None:
    model = ScriptedModel([calls(call("web__greet")), Say("Hello.")])
    async with connected(state, setup_of=model.setup()) as client:
        early = address.replace("/mcp", "/early")
        far = schema.McpServer(name="web", type="http", url=early, headers=[])
        session = await client.open(folder, servers=[far])
        await client.prompt(session, "greet")
    assert results_in(model.requests[1]) == ["late"]
    [headers] = [headers for method, headers in Streamable.heard if method == "GET"]
    assert headers["Last-Event-ID"] == "e1"


async def test_an_address_that_nobody_answers_is_told(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        far = schema.McpServer(name="web", type="http", url="http://127.0.0.1:1/mcp", headers=[])
        session = await client.open(folder, servers=[far])
        await client.prompt(session, "hi")
        [notice] = client.updates(schema.Notice)
        assert "The MCP server web cannot be reached: Connection refused." in notice.title
