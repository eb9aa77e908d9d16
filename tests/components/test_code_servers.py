"""Agents ask language servers: with and without a window, in a tree of their own, and for edits that are reviewed."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portico.acp import _schema as acp
from portico.components.code.component import CodeComponent, ServerSource
from portico.components.code.tree_files import FileSources
from portico.components.component import ComponentContext
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.domain.windows import CodeLookupResult
from portico.editors.buffers import AttachedEditorProvider
from portico.editors.files import LocalFiles
from portico.editors.language_servers.programs import has_servers
from portico.editors.language_servers.servers import LanguageServers
from portico.editors.local import LocalEditorProvider
from portico.processes.clock import SystemClock
from tests.components.test_code_intelligence import Place, words
from tests.conductor.mcp_support import frame
from tests.conductor.support import chain
from tests.editors.language_servers.support import scripted, write_settings
from tests.editors.windows import Desk

Json = dict[str, Any]
LOOKUPS = [
    "definition", "type_definition", "implementations", "references", "callers", "callees", "symbols", "hover",
    "problems",
]  # fmt: skip


@asynccontextmanager
async def place(
    tmp_path: Path, home: Path, policy: PermissionPolicy | None = None, **options: Any
) -> AsyncIterator[Place]:
    """A workspace whose texts a scripted server knows, and both ends of a session's chain."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("def thing\nuse thing\n")
    write_settings(home, **scripted(**options))
    desk = Desk()
    editors = AttachedEditorProvider(LocalEditorProvider({}), desk.windows, desk.tell)
    environ = {**os.environ, "PORTICO_HOME": str(home)}
    source = ServerSource(has_servers, lambda: LanguageServers(environ, SystemClock()))
    component = CodeComponent(lambda: FileSources(editors.files, LocalFiles), source, desk.windows)
    context = ComponentContext(
        workspace=workspace, environ=environ, editor=acp.ClientCapabilities(), agent=acp.AgentCapabilities()
    )
    approvals = FileApprovals(tmp_path / "approvals.json", lambda: 0)
    broker = PermissionBroker(agent="fake", policy=policy or PermissionPolicy(), approvals=approvals)
    async with chain(broker, *component.plan(context), McpBridge()) as ends:
        yield Place(ends, desk, workspace)
    await component.close()


async def greet(here: Place, *, reads: bool = True, writes: bool = True) -> None:
    """Open the chain as an editor that reads and writes files."""
    fs = {"readTextFile": reads, "writeTextFile": writes}
    params = {"protocolVersion": 1, "clientCapabilities": {"fs": fs}}
    here.ends.client.send(frame(id=0, method="initialize", params=params))
    asked = await here.ends.agent.receive()
    capabilities = {"mcpCapabilities": {"acp": True}}
    here.ends.agent.send(frame(id=asked["id"], result={"agentCapabilities": capabilities}))
    await here.ends.client.receive()


async def serve_client(here: Place) -> tuple[str, Json]:
    """Answer the next request to the client as an editor with the files of the disk; what it was."""
    asked = await here.ends.client.receive()
    here.ends.client.send(frame(id=asked["id"], result=client_answer(asked["method"], asked["params"])))
    return asked["method"], asked["params"]


def client_answer(method: str, params: Json) -> Json:
    if method == "fs/read_text_file":
        return {"content": Path(params["path"]).read_text()}
    if method == "session/request_permission":
        return {"outcome": {"outcome": "selected", "optionId": "change"}}
    Path(params["path"]).write_text(params["content"])
    return {}


async def test_without_a_window_an_agent_is_offered_all_that_servers_can_do(
    tmp_path: Path, own_home: Path
) -> None:
    async with place(tmp_path, own_home) as here:
        await here.greet()
        (server,) = await here.open()
        assert server["name"] == "portico-code"
        tools = await here.tools()
        assert [tool["name"] for tool in tools] == [*LOOKUPS, "rename", "code_actions"]
        assert [
            tool["name"] for tool in tools if tool.get("annotations") == {"readOnlyHint": True}
        ] == LOOKUPS
        told = await here.use("definition", path="a.txt", line=2, symbol="thing")
        assert told == "a.txt:1:5  def thing"
        assert await here.use("references", path="a.txt", line=9, symbol="thing") == (
            "a.txt:1:5  def thing\na.txt:2:5  use thing"
        )
        assert "no problems" in await here.use("problems", path="a.txt")
        assert await here.use("problems") == (
            "There are no problems. Only files of languages with support are checked.\n"
            "Checked 1 files that were changed or asked about. Give path to check another."
        )


async def test_a_session_that_only_reads_gets_no_tool_that_writes(tmp_path: Path, own_home: Path) -> None:
    async with place(tmp_path, own_home) as here:
        await here.greet()
        await here.open(reads_only=True)
        assert [tool["name"] for tool in await here.tools()] == LOOKUPS


async def test_a_window_answers_while_it_is_there_and_a_server_before_and_after(
    tmp_path: Path, own_home: Path
) -> None:
    async with place(tmp_path, own_home) as here:
        await here.greet()
        await here.open()
        asked = {"path": "a.txt", "line": 2, "symbol": "thing"}
        assert await here.use("definition", **asked) == "a.txt:1:5  def thing"
        async with here.desk.window(here.workspace) as window:
            window.answers = lambda _: CodeLookupResult()
            assert await here.use("definition", **asked) == "No definition of that name was found."
            # What no window can be asked, a server still answers.
            assert "does not offer" in await here.fail("implementations", **asked)
        assert await here.use("definition", **asked) == "a.txt:1:5  def thing"


async def test_in_a_tree_of_its_own_an_agent_hears_about_that_tree(tmp_path: Path, own_home: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.txt").write_text("BAD\ndef thing\n")
    async with place(tmp_path, own_home) as here, here.desk.window(here.workspace) as window:
        window.answers = lambda _: CodeLookupResult()
        await here.greet()
        await here.open(cwd=tree)
        told = "a.txt:1:1  error [scripted]  BAD is bad"
        assert await here.use("problems", path="a.txt") == told
        assert await here.use("problems", path=str(here.workspace / "a.txt")) == told
        assert await here.use("definition", path="a.txt", line=1, symbol="thing") == "a.txt:2:5  def thing"


async def test_a_rename_asks_the_person_and_writes_through_the_editor(tmp_path: Path, own_home: Path) -> None:
    async with place(tmp_path, own_home) as here:
        await greet(here)
        await here.open(session="")
        here.begin("rename", path="a.txt", line=1, symbol="thing", new_name="other")
        seen = [await serve_client(here)]
        while seen[-1][0] != "fs/write_text_file":
            seen.append(await serve_client(here))
        path = str(here.workspace / "a.txt")
        question = next(params for method, params in seen if method == "session/request_permission")
        assert question["toolCall"]["title"] == "Rename thing to other"
        assert question["toolCall"]["kind"] == "edit"
        (diff,) = question["toolCall"]["content"]
        assert (diff["path"], diff["newText"]) == (path, "def other\nuse other\n")
        assert words(await here.heard()) == "Changed:\na.txt: 2 changes"
        assert (here.workspace / "a.txt").read_text() == "def other\nuse other\n"


async def test_a_rule_that_denies_edits_denies_renames(tmp_path: Path, own_home: Path) -> None:
    policy = PermissionPolicy(deny=(parse_rule("edit"),))
    async with place(tmp_path, own_home, policy) as here:
        await greet(here, reads=False)
        await here.open(session="")
        told = await here.fail("rename", path="a.txt", line=1, symbol="thing", new_name="other")
        assert told.startswith("The person did not agree, so nothing was changed.")
        assert (here.workspace / "a.txt").read_text() == "def thing\nuse thing\n"


async def test_an_editor_that_writes_no_files_is_told_to_the_agent(tmp_path: Path, own_home: Path) -> None:
    async with place(tmp_path, own_home) as here:
        await greet(here, reads=False, writes=False)
        await here.open(session="")
        told = await here.fail("rename", path="a.txt", line=1, symbol="thing", new_name="other")
        assert "cannot write files" in told


async def test_unsaved_text_of_an_acp_editor_is_what_is_asked_about(tmp_path: Path, own_home: Path) -> None:
    async with place(tmp_path, own_home) as here:
        await greet(here)
        await here.open(session="")
        here.begin("problems", path="a.txt")
        asked = await here.ends.client.receive()
        assert asked["method"] == "fs/read_text_file"
        here.ends.client.send(frame(id=asked["id"], result={"content": "BAD\n"}))
        assert words(await here.heard()) == "a.txt:1:1  error [scripted]  BAD is bad"


async def test_a_server_that_fails_is_told_with_what_to_do(tmp_path: Path, own_home: Path) -> None:
    async with place(tmp_path, own_home, crash_on="initialize") as here:
        await here.greet()
        await here.open()
        told = await here.fail("problems", path="a.txt")
        assert told.startswith("scripted failed to start.")
        assert told.endswith("Search the files instead.")
