"""Assembly of a chain: the table of the documentation, row by row, with real proxies between two ends in memory."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from portico.chains.component_registry import ComponentSwitches
from portico.chains.options import ChainOptions, ChainParts
from portico.chains.reviews import open_reviews
from portico.processes.clock import SystemClock
from tests.chains.support import Json, planned, registry

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
    parts = ChainParts(environ, registry(environ), options, reviews)
    workspace = tmp_path / "workspace"
    async with planned(parts, workspace) as chain:
        takes: Json = {kind: True for kind in ("acp", "http") if kind == row.agent_takes}
        greeted, answered = await chain.greet(capabilities(row.editor_has), takes)
        servers = await chain.open_session(workspace)
    found = Row(
        editor_has=row.editor_has,
        agent_takes=row.agent_takes,
        settings=row.settings,
        nodes=", ".join(chain.names),
        agent_is_told=described(greeted["clientCapabilities"]),
        editor_is_told=", ".join(sorted(answered["agentCapabilities"]["mcpCapabilities"])),
        tools_come=how([one for one in servers if one["name"] == "clock"]),
    )
    assert found == row
