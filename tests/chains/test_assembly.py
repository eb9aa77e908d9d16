"""How a chain is assembled: the table of the documentation, row by row, with real proxies between two ends in memory."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import Raw

from portico.chains.options import ChainOptions, ChainParts
from portico.chains.plan import ChainPlan
from portico.chains.reviews import open_reviews
from portico.components.component import Component, ComponentContext
from portico.components.editor.component import EditorComponent
from portico.components.registry import BuiltInComponent, ComponentRegistry, ComponentSwitches
from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.proxy import Proxy
from portico.editors.local import LocalEditorProvider
from portico.mcp.server import ToolServer
from portico.mcp.tools import Tool, ToolCall
from portico.processes.clock import SystemClock
from portico.rpc.streams import memory_pair
from portico.sessions.ports import AgentSpec
from tests.conductor.support import Wire

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "components.md"


class Row(NamedTuple):
    editor_has: str
    agent_takes: str
    settings: str
    nodes: str
    agent_is_told: str
    editor_is_told: str
    tools_come: str


def rows() -> list[Row]:
    lines = PAGE.read_text(encoding="utf-8").split("## How a chain is assembled")[1].splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table]


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


def capabilities(words: str) -> dict[str, Any]:
    fs = {"readTextFile": "read" in words, "writeTextFile": "write" in words}
    return {"fs": fs, "terminal": "terminal" in words}


def described(told: dict[str, Any]) -> str:
    fs = told.get("fs", {})
    has = {"read": fs.get("readTextFile"), "write": fs.get("writeTextFile"), "terminal": told.get("terminal")}
    return ", ".join(name for name, value in has.items() if value) or "nothing"


def how(servers: list[dict[str, Any]]) -> str:
    if not servers:
        return "not at all"
    (one,) = servers
    return {"acp": "over ACP", "http": "as a URL"}.get(one.get("type", ""), "as a program")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "workspace").mkdir()
    return {"PORTICO_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


def configure(environ: dict[str, str], settings: str) -> ChainOptions:
    """Write the settings of a row, and return its flags."""
    config = Path(environ["PORTICO_HOME"]) / "config"
    config.mkdir(parents=True)
    if found := re.fullmatch(r"(\w+): false", settings):
        (config / "settings.json").write_text(f'{{"components": {{"{found[1]}": false}}}}')
        return ChainOptions()
    flags = {
        "": ChainOptions(),
        "--mcp-bridge http": ChainOptions(mcp_bridge="http"),
        "--no-component editor": ChainOptions(components=ComponentSwitches(off=("editor",))),
        "--mode proposal": ChainOptions(mode="proposal"),
    }
    return flags[settings]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.editor_has}-{row.agent_takes}-{row.settings}")
async def test_the_chain_is_assembled_as_the_documentation_says(
    row: Row, environ: dict[str, str], tmp_path: Path
) -> None:
    options = configure(environ, row.settings)
    reviews = None if options.mode == "direct" else open_reviews(environ, SystemClock())
    plan = ChainPlan(ChainParts(environ, registry(environ), options, reviews), lambda _: None)
    spec, workspace = AgentSpec(name="example", command=("example",)), tmp_path / "workspace"
    await plan.prepare(spec, workspace)
    near_client, far_client = memory_pair()
    near_agent, far_agent = memory_pair()
    names: list[str] = []

    async def assemble(hello: Raw) -> Assembly:
        nodes = await plan.nodes(hello)
        names.extend(node.name for node in nodes)
        return Assembly(nodes, near_agent)

    running = asyncio.create_task(Chain(near_client, assemble).run())
    client, agent = Wire(far_client), Wire(far_agent)
    try:
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities(row.editor_has)}
        client.send_json(id=1, method="initialize", params=hello)
        greeted = await agent.receive()
        takes = {kind: True for kind in ("acp", "http") if kind == row.agent_takes}
        result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": takes}}
        agent.send_json(id=greeted["id"], result=result)
        answered = (await client.receive())["result"]["agentCapabilities"]["mcpCapabilities"]
        client.send_json(id=2, method="session/new", params={"cwd": str(workspace), "mcpServers": []})
        opened = await agent.receive()
        servers = [one for one in opened["params"]["mcpServers"] if one["name"] == "clock"]
        agent.send_json(id=opened["id"], result={"sessionId": "s"})
        assert (await client.receive())["result"]["sessionId"] == "s"
    finally:
        await far_client.close()
        await running
    found = Row(
        editor_has=row.editor_has,
        agent_takes=row.agent_takes,
        settings=row.settings,
        nodes=", ".join(names),
        agent_is_told=described(greeted["params"]["clientCapabilities"]),
        editor_is_told=", ".join(sorted(answered)),
        tools_come=how(servers),
    )
    assert found == row
