"""Test doubles for MCP over ACP: a server to offer, an agent to ask, and a small MCP client."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from portico.domain import codecs
from portico.mcp.server import McpRequest, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, ToolResult, schema_of
from tests.conductor.support import HELLO, Ends, Wire

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Sum(msgspec.Struct, frozen=True):
    a: int
    b: int


class Desk:
    """A server with a tool for every way a call can go, and what the test needs to see of it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()
        nothing: dict[str, Any] = {"type": "object"}
        self.server = ToolServer(
            "desk",
            [
                Tool("add", "Adds two numbers.", schema_of(Sum), self.add, read_only=True),
                Tool("where", "Says where it is.", nothing, self.where),
                Tool("slow", "Takes its time.", nothing, self.slow),
                Tool("refuse", "Cannot be done.", nothing, self.refuse),
                Tool("broken", "Has a defect.", nothing, self.broken),
                Tool("echo", "Says it back.", nothing, self.echo),
            ],
            instructions="Use the desk.",
        )

    async def add(self, call: ToolCall) -> ToolResult:
        numbers = call.read(Sum)
        return ToolResult(structured={"sum": numbers.a + numbers.b})

    async def where(self, call: ToolCall) -> str:
        return f"{call.session_id} in {call.cwd}"

    async def slow(self, call: ToolCall) -> str:
        call.progress(1, 2, "half")
        self.begun.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "at last"

    async def refuse(self, call: ToolCall) -> str:
        raise ToolFailure("Ask for something else.")

    async def broken(self, call: ToolCall) -> str:
        raise LookupError("the inside")

    async def echo(self, call: ToolCall) -> str:
        return str(call.arguments["text"])


class Failing:
    """A server that cannot even answer."""

    name = "failing"

    async def answer(self, request: McpRequest) -> Any:
        raise LookupError("the inside")


def frame(**fields: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields})


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await event.wait()


async def introduce(ends: Ends, *, acp: bool) -> dict[str, Any]:
    """Shake hands with an agent that takes servers over ACP, or does not; what the client is told of it."""
    ends.client.send(HELLO)
    asked = await ends.agent.receive()
    capabilities = {"loadSession": True, "mcpCapabilities": {"http": True, **({"acp": True} if acp else {})}}
    result = {"protocolVersion": 1, "agentCapabilities": capabilities, "other": 1.50}
    ends.agent.send(frame(id=asked["id"], result=result))
    told: dict[str, Any] = (await ends.client.receive())["result"]
    return told


async def open_session(
    ends: Ends, session_id: str = "s", *, servers: list[Any] | None = None, cwd: str = "/work"
) -> list[dict[str, Any]]:
    """The servers that the agent was given for a new session."""
    params = {"cwd": cwd, "mcpServers": servers or []}
    ends.client.send(frame(id=session_id, method="session/new", params=params))
    asked = await ends.agent.receive()
    ends.agent.send(frame(id=asked["id"], result={"sessionId": session_id}))
    assert (await ends.client.receive())["result"] == {"sessionId": session_id}
    given: list[dict[str, Any]] = asked["params"]["mcpServers"]
    return given


async def ask(wire: Wire, request_id: Any, method: str, params: Any) -> dict[str, Any]:
    """Ask over a wire, and take the next message for the answer."""
    wire.send(frame(id=request_id, method=method, params=params))
    answer = await wire.receive()
    assert answer["id"] == request_id, answer
    return answer


def message(
    server_id: str, request_id: str, method: str, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"serverId": server_id, "requestId": request_id, "method": method, "params": params}


def call(server_id: str, request_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return message(server_id, request_id, "tools/call", {"name": tool, "arguments": arguments})


class StandIn:
    """The program that an agent starts in place of a server, and an MCP client on its streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))

    async def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(10):
            line = await self.process.stdout.readline()
        if not line:
            raise EOFError
        received: dict[str, Any] = codecs.decode_json(line)
        return received

    async def ask(self, request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
        fields = {} if params is None else {"params": params}
        self.send(frame(id=request_id, method=method, **fields))
        answer = await self.receive()
        assert answer["id"] == request_id, answer
        return answer

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def ended(self) -> int:
        async with asyncio.timeout(10):
            return await self.process.wait()


@asynccontextmanager
async def started(entry: dict[str, Any], **environ: str) -> AsyncIterator[StandIn]:
    """Start an entry of `mcpServers` as an agent would."""
    given = {variable["name"]: variable["value"] for variable in entry["env"]}
    process = await asyncio.create_subprocess_exec(
        entry["command"],
        *entry["args"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=32 * 1024 * 1024,
        env={**os.environ, **given, **environ},
    )
    stand_in = StandIn(process)
    try:
        yield stand_in
    finally:
        stand_in.hang_up()
        if process.returncode is None:
            await stand_in.ended()
