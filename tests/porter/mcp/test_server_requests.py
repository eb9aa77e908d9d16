"""Requests of MCP servers to Porter, in each way that they can be made."""

import asyncio
import json
import queue
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from portico.acp import _schema as schema
from portico.porter.mcp_requests import ServerRequests
from portico.rpc.messages import METHOD_NOT_FOUND, RpcError
from tests.porter.client import connected
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in
from tests.porter.mcp.server import QUESTIONS

PROGRAM = Path(__file__).with_name("server.py")
PATIENCE = 60.0
FORM = schema.ElicitationSchema(properties={"name": schema.ElicitationPropertySchema(type="string")})


class AskingServer(ThreadingHTTPServer):
    """Asks its client everything there is, in the stream of a call or in one that the client keeps open."""

    daemon_threads = True

    def __init__(self, *, apart: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.apart = apart
        self.capabilities: dict[str, Any] = {}
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.sent_apart: queue.Queue[bytes] = queue.Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class _Handler(BaseHTTPRequestHandler):
    server: AskingServer

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match message.get("method"):
            case "initialize":
                self.server.capabilities = message["params"]["capabilities"]
                self._json(message["id"], {"protocolVersion": "2025-11-25", "capabilities": {}})
            case "tools/list":
                self._json(message["id"], {"tools": [{"name": "asks", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                self._stream()
                found = {method: self._ask(method, params) for method, params in QUESTIONS.items()}
                content = [{"type": "text", "text": json.dumps(found)}]
                self.wfile.write(_event({"id": message["id"], "result": {"content": content}}))
            case None:
                self.server.answers.put(message)
                self._nothing(202)
            case _:
                self._nothing(202)

    def do_GET(self) -> None:
        if not self.server.apart:
            self._nothing(405)
            return
        self._stream()
        self.wfile.flush()
        while event := self.server.sent_apart.get():
            self.wfile.write(event)
            self.wfile.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        event = _event({"id": f"my-{method}", "method": method, "params": params})
        if self.server.apart:
            self.server.sent_apart.put(event)
        else:
            self.wfile.write(event)
            self.wfile.flush()
        answer = self.server.answers.get(timeout=PATIENCE)
        assert answer["id"] == f"my-{method}"
        return answer["result"] if "result" in answer else answer["error"]["code"]

    def _json(self, number: int, result: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def _nothing(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


def _event(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n"


@pytest.fixture(params=["by pipe", "in the stream of the call", "in a stream of its own"])
def server(request: pytest.FixtureRequest) -> Iterator[schema.McpServer]:
    if request.param == "by pipe":
        yield schema.McpServer(name="math", command=sys.executable, args=[str(PROGRAM)], env=[])
        return
    asking = AskingServer(apart=request.param == "in a stream of its own")
    thread = threading.Thread(target=asking.serve_forever)
    thread.start()
    try:
        yield schema.McpServer(name="math", type="http", url=asking.url, headers=[])
    finally:
        asking.sent_apart.put(b"")
        asking.shutdown()
        thread.join()
        asking.server_close()


async def test_each_question_of_a_server_is_answered(
    state: Path, folder: Path, server: schema.McpServer
) -> None:
    model = ScriptedModel([calls(call("math__asks")), Say("Well.")])
    async with connected(state, setup_of=model.setup(), elicitation=True) as client:
        client.reply = {"name": "Ada"}
        session = await client.open(folder, servers=[server])
        await client.prompt(session, "go")
        (question,) = client.elicited
        (shown,) = client.calls
    assert question.message == "math asks: Who are you?"
    assert question.tool_call_id == shown.tool_call_id
    answers = json.loads(results_in(model.requests[1])[0])
    assert answers["ping"] == {}
    assert answers["roots/list"] == {"roots": [{"uri": folder.as_uri(), "name": folder.name}]}
    assert answers["sampling/createMessage"] == METHOD_NOT_FOUND
    assert answers["elicitation/create"] == {"action": "accept", "content": {"name": "Ada", "colour": "blue"}}


async def test_a_person_who_does_not_want_to_answer_need_not(
    state: Path, folder: Path, server: schema.McpServer
) -> None:
    model = ScriptedModel([calls(call("math__asks")), Say("Well.")])
    async with connected(state, setup_of=model.setup(), elicitation=True) as client:
        session = await client.open(folder, servers=[server])
        await client.prompt(session, "go")
    assert json.loads(results_in(model.requests[1])[0])["elicitation/create"] == {"action": "decline"}


async def test_where_nobody_can_be_asked_that_is_not_offered(
    state: Path, folder: Path, server: schema.McpServer
) -> None:
    model = ScriptedModel([calls(call("math__asks")), Say("Well.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder, servers=[server])
        await client.prompt(session, "go")
    assert json.loads(results_in(model.requests[1])[0])["elicitation/create"] == METHOD_NOT_FOUND


def wanted(**more: Any) -> Raw:
    return Raw(msgspec.json.encode({"message": "Who?", "requestedSchema": FORM, **more}))


async def test_a_call_waits_as_long_as_the_person_does() -> None:
    asked = ServerRequests((), can_ask=True)
    async with asyncio.timeout(PATIENCE) as deadline:

        async def ask(words: str, form: schema.ElicitationSchema) -> schema.CreateElicitationResponse:
            assert deadline.when() is None
            return schema.CreateElicitationResponse(action="accept", content={"name": words})

        with asked.calling(ask, deadline, PATIENCE):
            reply = await asked.answer("elicitation/create", wanted())
            assert deadline.when() is not None
    assert reply.content == {"name": "Who?"}


async def test_a_question_ends_with_the_call_that_it_was_about() -> None:
    asked = ServerRequests((), can_ask=True)
    put = asyncio.Event()

    async def ask(_words: str, _form: schema.ElicitationSchema) -> schema.CreateElicitationResponse:
        put.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(PATIENCE) as deadline:
        with asked.calling(ask, deadline, PATIENCE):
            answering = asyncio.create_task(asked.answer("elicitation/create", wanted()))
            await put.wait()
        assert (await answering).action == "cancel"
        assert (await asked.answer("elicitation/create", wanted())).action == "cancel"


@pytest.mark.parametrize("params", [b"{}", b'{"message": 7}', bytes(wanted(mode="url"))])
async def test_a_question_that_makes_no_sense_is_refused(params: bytes) -> None:
    with pytest.raises(RpcError):
        await ServerRequests((), can_ask=True).answer("elicitation/create", Raw(params))
