"""MCP over ACP with the official TypeScript SDK at either end of the chain."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.node import ProxyNode
from portico.domain import codecs
from portico.rpc.streams import ByteStream, PipeStream, memory_pair
from tests.conductor.mcp_support import HANDSHAKE, Desk, ask, frame, happens, started
from tests.conductor.support import HELLO, Wire

PEERS = Path(__file__).parents[1] / "peers"


@asynccontextmanager
async def peer(script: str) -> AsyncIterator[ByteStream]:
    """A program of Node, and its streams."""
    node = shutil.which("node")
    assert node is not None, "the tests need Node"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(node, str(PEERS / script), stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield PipeStream(process.stdout, process.stdin)
    finally:
        process.stdin.close()
        async with asyncio.timeout(10):
            await process.wait()


@asynccontextmanager
async def chain_between(client: ByteStream, agent: ByteStream, desk: Desk) -> AsyncIterator[None]:
    async def assemble(params: Raw) -> Assembly:
        return Assembly([ProxyNode(McpProxy([desk.server])), ProxyNode(McpBridge())], agent)

    running = asyncio.create_task(Chain(client, assemble).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def prompt(client: Wire, calls: list[Any]) -> list[Any]:
    """Results of the agent's calls."""
    text = msgspec.json.encode(calls).decode()
    blocks = [{"type": "text", "text": text}]
    client.send(frame(id="p", method="session/prompt", params={"sessionId": "ts-0", "prompt": blocks}))
    said = await client.receive()
    assert (await client.receive())["result"]["stopReason"] == "end_turn"
    outcomes: list[Any] = codecs.decode_json(said["params"]["update"]["content"]["text"])
    return outcomes


async def test_an_agent_of_the_typescript_sdk_uses_the_tools_of_a_proxy() -> None:
    near, far = memory_pair()
    client, desk = Wire(far), Desk()
    async with peer("mcp_agent.mjs") as agent, chain_between(near, agent, desk):
        client.send(HELLO)
        await client.receive()
        opened = await ask(client, 1, "session/new", {"cwd": "/work", "mcpServers": []})
        assert opened["result"] == {"sessionId": "ts-0"}
        listed, added, broken, unknown, cancelled = await prompt(
            client,
            [
                ["desk", "tools/list", {}],
                ["desk", "tools/call", {"name": "add", "arguments": {"a": 20, "b": 22}}],
                ["desk", "tools/call", {"name": "nothing"}],
                ["made-up", "tools/list", {}],
                [
                    "desk",
                    "tools/call",
                    {"name": "slow", "cancelOnProgress": True, "_meta": {"progressToken": 1}},
                ],
            ],
        )
        await happens(desk.cancelled)
    assert listed["outcome"]["result"]["tools"][0]["name"] == "add"
    assert added["outcome"]["result"]["structuredContent"] == {"sum": 42}
    assert broken["outcome"]["error"]["code"] == -32602
    assert unknown["code"] == -33001
    assert cancelled["code"] == -32800
    assert [one["method"] for one in cancelled["notifications"]] == ["notifications/progress"]


async def test_a_client_of_the_typescript_sdk_serves_an_agent_that_can_only_start_programs() -> None:
    near, far = memory_pair()
    agent = Wire(far)
    async with peer("mcp_client.mjs") as client, chain_between(client, near, Desk()):
        asked = await agent.receive()
        agent.send(frame(id=asked["id"], result={"protocolVersion": 1, "agentCapabilities": {}}))
        opening = await agent.receive()
        agent.send(frame(id=opening["id"], result={"sessionId": "s"}))
        editor, desk = opening["params"]["mcpServers"]
        assert (editor["name"], desk["name"]) == ("editor", "desk")
        async with started(editor) as tools:
            greeting = await tools.ask(0, "initialize", HANDSHAKE)
            assert greeting["result"]["serverInfo"] == {"name": "typescript-tools", "version": "3"}
            called = await tools.ask(1, "tools/call", {"name": "hello"})
            assert called["result"] == {"content": [{"type": "text", "text": "hello t"}]}
            assert (await tools.ask(2, "nothing"))["error"] == {"code": -32601, "message": "no nothing"}
            slow = {"name": "wait", "_meta": {"progressToken": 5}}
            tools.send(frame(id=3, method="tools/call", params=slow))
            assert (await tools.receive())["params"] == {"progressToken": 5, "progress": 1}
            tools.send(frame(method="notifications/cancelled", params={"requestId": 3}))
            assert "result" in await tools.ask(4, "tools/call", {"name": "hello"})
