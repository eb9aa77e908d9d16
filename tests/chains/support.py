"""A planned chain between two ends in memory, with a component that has a tool."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.chains.component_registry import BuiltInComponent, ComponentRegistry
from portico.chains.options import ChainParts
from portico.chains.plan import ChainPlan
from portico.components.component import Component, ComponentContext
from portico.components.editor.component import EditorComponent
from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.proxy import Proxy
from portico.domain.components import AS_IN_SETTINGS, SessionComponents
from portico.editors.local import LocalEditorProvider
from portico.mcp.server import ToolServer
from portico.mcp.tools import Tool, ToolCall
from portico.rpc.streams import memory_pair
from portico.sessions.ports import AgentProcess, AgentSpec
from tests.conductor.support import Wire

Json = dict[str, Any]
SPEC = AgentSpec(name="example", command=("example",))


class Tools(Component):
    name = "tools"
    summary = "a tool"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return [McpProxy([ToolServer("clock", [Tool("now", "Tells the time.", {"type": "object"}, _now)])])]


async def _now(_: ToolCall) -> str:
    return "noon"


def registry(environ: dict[str, str], tools: Callable[[], Component] = Tools) -> ComponentRegistry:
    return ComponentRegistry(
        {
            "editor": BuiltInComponent(
                lambda: EditorComponent(lambda: LocalEditorProvider(environ)), is_adapter=True
            ),
            "tools": BuiltInComponent(tools),
        }
    )


class PlannedChain:
    """The two ends of a chain, and the names of its nodes once the client has said `initialize`."""

    def __init__(self, client: Wire, agent: Wire) -> None:
        self.client = client
        self.agent = agent
        self.names: list[str] = []

    async def greet(self, capabilities: Json, mcp: Json) -> tuple[Json, Json]:
        """Capabilities that the agent gets in `initialize`, and those that the client gets."""
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities}
        self.client.send_json(id="hello", method="initialize", params=hello)
        greeted = await self.agent.receive()
        result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": mcp}}
        self.agent.send_json(id=greeted["id"], result=result)
        return greeted["params"], (await self.client.receive())["result"]

    async def open_session(self, workspace: Path, servers: Sequence[Json] = ()) -> list[Json]:
        """Open the session "s"; the MCP servers that the agent is given."""
        params = {"cwd": str(workspace), "mcpServers": list(servers)}
        self.client.send_json(id="open", method="session/new", params=params)
        opened = await self.agent.receive()
        self.agent.send_json(id=opened["id"], result={"sessionId": "s"})
        assert (await self.client.receive())["result"]["sessionId"] == "s"
        return list(opened["params"]["mcpServers"])

    async def prompt(self) -> tuple[Json, list[Json]]:
        """Send a prompt in the session; what reaches the agent, and the updates that the client gets."""
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}
        self.client.send_json(id="prompt", method="session/prompt", params=params)
        asked = await self.agent.receive()
        self.agent.send_json(id=asked["id"], result={"stopReason": "end_turn"})
        updates = []
        while "params" in (heard := await self.client.receive()):
            updates.append(heard["params"]["update"])
        return asked["params"], updates


@asynccontextmanager
async def planned(
    parts: ChainParts, workspace: Path, components: SessionComponents = AS_IN_SETTINGS
) -> AsyncIterator[PlannedChain]:
    programs: list[AgentProcess] = []
    plan = ChainPlan(parts, programs.append)
    await plan.prepare(msgspec.structs.replace(SPEC, components=components), workspace)
    near_client, far_client = memory_pair()
    near_agent, far_agent = memory_pair()
    made = PlannedChain(Wire(far_client), Wire(far_agent))

    async def assemble(hello: Raw) -> Assembly:
        nodes = await plan.nodes(hello)
        made.names += [node.name for node in nodes]
        return Assembly(nodes, near_agent)

    running = asyncio.create_task(Chain(near_client, assemble).run())
    try:
        yield made
    finally:
        await far_client.close()
        await running
        for program in programs:
            await program.stop(grace=0)
