"""MCP servers that are hostile, broken or written down wrongly: told of, left out, and never in anybody's way."""

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as schema
from portico.mcp import client as mcp_client
from portico.mcp import http_transport as mcp_http
from portico.mcp import stdio_transport as mcp_pipes
from tests.porter.client import allow_for_session, connected
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in
from tests.support.processes import child_scripts

PROGRAM = Path(__file__).with_name("hostile_server.py")
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "
_JSON = _OK + b"application/json\r\n"
_EVENTS = _OK + b"text/event-stream\r\n\r\n"
_PATIENCE = 30.0


def program(manners: str, name: str = "web") -> schema.McpServer:
    return schema.McpServer(name=name, command=sys.executable, args=[str(PROGRAM), manners], env=[])


def children() -> int:
    return len(child_scripts(PROGRAM))


def offered(model: ScriptedModel) -> list[str]:
    """The tools of servers that the model was offered first."""
    return [tool.name for tool in model.requests[0].tools if "__" in tool.name]


async def told(state: Path, folder: Path, server: schema.McpServer) -> str:
    """Notices about a server in a turn that continues without it."""
    model = ScriptedModel([Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client, asyncio.timeout(_PATIENCE):
        session = await client.open(folder, servers=[server])
        assert await client.prompt(session, "hi") == "end_turn"
        [notice] = client.updates(schema.Notice)
    assert offered(model) == []
    title: str = notice.title
    return title


class Address:
    """A server behind an address, with the manners that its path names."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._welcome)]
        self._threads[0].start()

    def url(self, manners: str, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}/{manners}"

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _welcome(self) -> None:
        while not self._over.is_set():
            try:
                peer = self._socket.accept()[0]
            except TimeoutError:
                continue
            self._threads.append(threading.Thread(target=self._serve, args=(peer,)))
            self._threads[-1].start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as lines:
            first = lines.readline()
            if not first.endswith(b"HTTP/1.1\r\n"):
                self._over.wait()
                return
            verb, manners = first.split()[0].decode(), first.split()[1].decode().removeprefix("/")
            length = 0
            while (line := lines.readline().strip().lower()) != b"":
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            message = json.loads(lines.read(length)) if length else {}
            try:
                self._answer(peer, manners, message.get("method", verb), message)
            except OSError:
                return

    def _answer(self, peer: socket.socket, manners: str, method: str, message: dict[str, Any]) -> None:
        version = "2025\r\nX-Mine: 1" if manners == "line-end" else "2025-06-18"
        greeting = json.dumps(
            {"jsonrpc": "2.0", "id": message.get("id"), "result": {"protocolVersion": version}}
        ).encode()
        match manners, method:
            case "elsewhere", _:
                peer.sendall(b"HTTP/1.1 307 There\r\nLocation: http://other.example/mcp\r\n\r\n")
            case "page", _:
                peer.sendall(_OK + b"text/html\r\n\r\n<p>Hello</p>")
            case "headers-only", _:
                peer.sendall(_JSON + b"Content-Length: 100\r\n\r\n")
                self._over.wait()
            case "half-event", _:
                peer.sendall(_EVENTS + b"data: " + greeting[:20])
            case "long-pause", "initialize":
                peer.sendall(_EVENTS + b"id: 1\nretry: " + b"9" * 5000 + b"\n\ndata: " + greeting + b"\n\n")
            case "odd-place", "initialize":
                peer.sendall(_EVENTS + "id: naïve €\nretry: 1\n\n".encode())
            case "drops", "notifications/initialized":
                peer.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 100000\r\n\r\n")
                while not self._over.wait(0.2):
                    peer.sendall(b"x")
            case _, "initialize":
                # Where what comes after the greeting never ends, it is not waited for as the greeting was.
                mcp_client.HANDSHAKE_SECONDS = 0.5 if manners == "drops" else mcp_client.HANDSHAKE_SECONDS
                peer.sendall(_JSON + b"Mcp-Session-Id: one\r\n\r\n" + greeting)
            case _, "tools/list":
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}
                peer.sendall(_JSON + b"Mcp-Session-Id: two\r\n\r\n" + json.dumps(answer).encode())
            case "good" | "long-pause", "notifications/initialized":
                peer.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            case _:
                peer.sendall(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def address() -> Iterator[Address]:
    made = Address()
    yield made
    made.close()


def behind(url: str, *headers: schema.HttpHeader) -> schema.McpServer:
    return schema.McpServer(name="web", type="http", url=url, headers=list(headers))


@pytest.mark.parametrize(
    ("manners", "words"),
    [
        ("elsewhere", "status 307. It has moved to http://other.example/mcp; if you trust that, change"),
        ("page", "did not answer initialize: it sent text/html. Check its address."),
        ("headers-only", "did not answer initialize within"),
        ("half-event", "did not answer initialize: the response broke off."),
        ("odd-place", "answered with status 405."),
        ("line-end", "cannot be used: a header has invalid characters."),
        ("drops", "did not take notifications/initialized within"),
    ],
)
async def test_an_address_with_bad_manners_is_told_and_the_turn_goes_on(
    state: Path, folder: Path, address: Address, manners: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_client, "HANDSHAKE_SECONDS", 1.0 if manners == "headers-only" else 20.0)
    assert words in await told(state, folder, behind(address.url(manners)))


async def test_an_address_that_never_shakes_hands_is_not_waited_for(
    state: Path, folder: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_http, "_CONNECTING_SECONDS", 1.0)
    assert "cannot be reached: " in await told(state, folder, behind(address.url("mute", "https")))


async def test_an_address_that_never_shakes_hands_is_waited_for_once(
    state: Path, folder: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([Say("Hi."), Say("Ho.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[behind(address.url("mute", "https"))])
        monkeypatch.setattr(mcp_http, "_CONNECTING_SECONDS", 1.0)
        await client.prompt(session, "hi")
        monkeypatch.setattr(mcp_http, "_CONNECTING_SECONDS", 1000.0)
        assert await client.prompt(session, "ho") == "end_turn"
        # It breaks off what is still tried.
        address.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/mcp", "http://[::1/mcp", "http://me:sec/ret@x/mcp"])
async def test_an_address_that_is_none_is_told(state: Path, folder: Path, url: str) -> None:
    words = await told(state, folder, behind(url))
    assert words == "The MCP server web has no usable address. Check its url."


async def test_a_token_with_the_line_end_of_its_file_is_told_of_without_showing_it(
    state: Path, folder: Path, address: Address
) -> None:
    header = schema.HttpHeader(name="Authorization", value="Bearer secret\n")
    words = await told(state, folder, behind(address.url("good"), header))
    assert "a header has invalid characters. Check its headers for line breaks." in words
    assert "secret" not in words


async def test_a_pause_of_ages_is_passed_over(state: Path, folder: Path, address: Address) -> None:
    model = ScriptedModel([Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client, asyncio.timeout(_PATIENCE):
        session = await client.open(folder, servers=[behind(address.url("long-pause"))])
        assert await client.prompt(session, "hi") == "end_turn"
        assert client.updates(schema.Notice) == []


@pytest.mark.parametrize("manners", ["closed output", "half a line"])
async def test_a_program_that_breaks_off_is_told(state: Path, folder: Path, manners: str) -> None:
    assert await told(state, folder, program(manners)) == "The MCP server web ended."
    assert children() == 0


@pytest.mark.parametrize("manners", ["answers to nobody", "flood of notes", "answers twice"])
async def test_what_nobody_asked_for_is_passed_over(state: Path, folder: Path, manners: str) -> None:
    model = ScriptedModel([calls(call("web__greet")), Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[program(manners)])
        await client.prompt(session, "hi")
    assert results_in(model.requests[1]) == ["greet"]


async def test_a_server_that_logs_to_its_output_as_it_works_goes_on_working(
    state: Path, folder: Path
) -> None:
    model = ScriptedModel([*(calls(call("web__greet", n=number)) for number in range(3)), Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[program("chatty")])
        await client.prompt(session, "hi")
    assert [results_in(request) for request in model.requests[1:]] == [["done"]] * 3


async def test_an_answer_that_is_too_long_is_a_result_at_once(
    state: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_pipes, "_LONGEST_LINE", 1024 * 1024)
    model = ScriptedModel([calls(call("web__greet")), Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[program("giant answer")])
        await client.prompt(session, "hi")
    [result] = results_in(model.requests[1])
    assert "bytes is too long" in result


@pytest.mark.parametrize(
    ("manners", "kept", "left_out"), [("many tools", 200, "9800 of its"), ("giant schema", 1, "1 of its")]
)
async def test_more_than_a_model_can_be_told_of_is_left_out_and_said_once(
    state: Path, folder: Path, manners: str, kept: int, left_out: str
) -> None:
    model = ScriptedModel([Say("Hi."), Say("Ho.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[program(manners)])
        await client.prompt(session, "hi")
        await client.prompt(session, "ho")
        [notice] = client.updates(schema.Notice)
    assert notice.description is not None
    assert notice.description.startswith(left_out)
    assert len(offered(model)) == kept


async def test_tools_whose_names_look_alike_are_all_there_and_each_is_the_one_that_is_called(
    state: Path, folder: Path
) -> None:
    model = ScriptedModel([calls(call("web__a_b_2")), calls(call("web__a_b")), Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = allow_for_session
        session = await client.open(folder, servers=[program("like names")])
        await client.prompt(session, "hi")
        asked = [question.tool_call.title for question in client.questions]
    names = offered(model)
    assert len(set(names)) == 4
    assert max(map(len, names)) <= 64
    assert [results_in(request) for request in model.requests[1:]] == [["a_b"], ["a b"]]
    assert asked == ["web: a_b", "web: a b"]


async def test_servers_of_one_name_are_all_there_and_all_end(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("web-2__greet")), Say("Hi.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[program("good"), program("good"), program("good")])
        await client.prompt(session, "hi")
        assert children() == 3
    assert offered(model) == ["web__greet", "web-2__greet", "web-3__greet"]
    assert results_in(model.requests[1]) == ["greet"]
    assert children() == 0
