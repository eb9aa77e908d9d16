"""MCP servers, proxies and components of the settings apply in every chain."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from portico.chains.component_registry import ComponentSwitches
from portico.chains.options import ChainOptions, ChainParts
from portico.components.component import Component, ComponentContext
from portico.conductor.proxy import Proxy
from portico.domain.errors import InvalidInput
from tests.chains.support import planned, registry

ALL = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
EXAMPLES = Path(__file__).parents[2] / "examples"


class Broken(Component):
    name = "tools"
    summary = "nothing"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        raise OSError("no such device")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "workspace" / ".portico").mkdir(parents=True)
    (tmp_path / "home" / "config").mkdir(parents=True)
    return {"PORTICO_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "TOKEN": "secret"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def write_settings(environ: dict[str, str], **settings: Any) -> None:
    (Path(environ["PORTICO_HOME"]) / "config" / "settings.json").write_text(json.dumps(settings))


async def test_every_agent_gets_the_mcp_servers_of_the_settings(
    environ: dict[str, str], workspace: Path
) -> None:
    mine = {"command": "sh", "args": ["-c", "true"], "env": {"TOKEN": "${TOKEN}"}}
    write_settings(environ, mcpServers={"mine": mine, "theirs": {"command": "mine"}})
    theirs = {"name": "theirs", "command": "theirs", "args": [], "env": []}
    switches = ComponentSwitches(off=("tools",))
    parts = ChainParts(environ, registry(environ), ChainOptions(components=switches))
    async with planned(parts, workspace) as chain:
        await chain.greet(ALL, {})
        servers = await chain.open_session(workspace, [theirs])
    assert [(one["name"], one["command"].rpartition("/")[2]) for one in servers] == [
        ("theirs", "theirs"),
        ("mine", "sh"),
    ]
    assert servers[1]["env"] == [{"name": "TOKEN", "value": "secret"}]


async def test_a_server_that_the_agent_cannot_reach_is_named_in_a_notice(
    environ: dict[str, str], workspace: Path
) -> None:
    write_settings(environ, mcpServers={"far": {"url": "https://far.example/mcp"}, "bad": {}})
    parts = ChainParts(environ, registry(environ))
    async with planned(parts, workspace) as chain:
        await chain.greet({**ALL, "session": {"notices": {}}}, {})
        servers = await chain.open_session(workspace)
        _, updates = await chain.prompt()
        _, later = await chain.prompt()
    assert [one["name"] for one in servers] == ["clock"]
    assert [one["sessionUpdate"] for one in updates] == ["notice", "notice"]
    assert any("The MCP server bad is left out." in one["title"] for one in updates)
    assert any("far is left out: the agent does not support MCP over HTTP" in one["title"] for one in updates)
    assert later == []


async def test_a_workspace_that_is_not_trusted_adds_nothing(environ: dict[str, str], workspace: Path) -> None:
    evil = {"mcpServers": {"evil": {"command": "evil"}}, "components": {"tools": False}}
    (workspace / ".portico" / "settings.json").write_text(json.dumps(evil))
    async with planned(ChainParts(environ, registry(environ)), workspace) as chain:
        await chain.greet(ALL, {"acp": True})
        assert [one["name"] for one in await chain.open_session(workspace)] == ["clock"]


async def test_a_component_that_fails_is_named_and_the_session_goes_on(
    environ: dict[str, str], workspace: Path
) -> None:
    async with planned(ChainParts(environ, registry(environ, Broken)), workspace) as chain:
        await chain.greet({**ALL, "session": {"notices": {}}}, {})
        assert await chain.open_session(workspace) == []
        _, (notice,) = await chain.prompt()
    assert notice["title"] == (
        "The component tools is left out. OSError: no such device. It is tried again with the next session."
    )


async def test_a_proxy_of_the_settings_joins_where_it_is_switched_on(
    environ: dict[str, str], workspace: Path
) -> None:
    program = {"command": sys.executable, "args": [str(EXAMPLES / "proxy.py")]}
    write_settings(environ, proxies={"example": program})
    parts = ChainParts(environ, registry(environ))
    async with planned(parts, workspace) as chain:
        await chain.greet(ALL, {})
        assert "example" not in chain.names
    write_settings(environ, proxies={"example": program}, components={"example": True})
    async with planned(parts, workspace) as chain:
        await chain.greet(ALL, {})
        assert chain.names[-2:] == ["example", "mcp-bridge"]
        await chain.open_session(workspace)
        reached, updates = await chain.prompt()
    assert updates == []
    assert reached["prompt"] != [{"type": "text", "text": "hello"}]


async def test_what_an_outer_chain_has_is_not_added_again(environ: dict[str, str], workspace: Path) -> None:
    inner = {**environ, "PORTICO_OUTER_COMPONENTS": "editor,tools"}
    async with planned(ChainParts(inner, registry(inner)), workspace) as chain:
        await chain.greet({}, {})
        assert chain.names == ["notices", "mcp-servers", "permissions", "mcp-bridge"]


async def test_an_unknown_component_of_a_flag_is_refused(environ: dict[str, str], workspace: Path) -> None:
    options = ChainOptions(components=ComponentSwitches(off=("nosuch",)))
    with pytest.raises(InvalidInput, match=r'Unknown component "nosuch"\. Available: editor, tools\.'):
        async with planned(ChainParts(environ, registry(environ), options), workspace):
            pass
