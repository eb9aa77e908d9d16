"""Tools of the person's editor and its extensions: who gets them, who is asked, and calls at the same time."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.components.editor_tools.proxy import EditorTools
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.domain.ids import SessionId
from portico.domain.windows import (
    ToolImage,
    ToolInvocation,
    ToolInvocationResult,
    WindowFailure,
    WindowTool,
)
from portico.editors.window import MOST_SESSIONS, MOST_TOOLS
from tests.conductor.mcp_support import ask, call, frame, message
from tests.conductor.support import Ends, chain
from tests.editors.windows import SESSION, Desk, Played

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = WindowTool(name="search_issues", description="Searches issues.", schema=json.dumps(SCHEMA))
DEPLOY = WindowTool(name="deploy")
ALLOW_ALL = PermissionPolicy(allow=(parse_rule("tool:vscode__*"),))


class Place:
    """A session, the window on its folder, and both ends of the session's chain."""

    def __init__(self, ends: Ends, desk: Desk, window: Played, workspace: Path) -> None:
        self.ends = ends
        self.desk = desk
        self.window = window
        self.workspace = workspace
        self.server_id = ""

    def announce(self, *tools: WindowTool, session: str | None = None) -> None:
        self.desk.windows.update_tools(self.window.id, SessionId(session) if session else None, tools)

    async def open(self, **placed: Any) -> list[Json]:
        """The servers that the agent is given."""
        self.ends.client.send(frame(id=0, method="initialize", params={"protocolVersion": 1}))
        asked = await self.ends.agent.receive()
        capabilities = {"mcpCapabilities": {"acp": True}}
        self.ends.agent.send(frame(id=asked["id"], result={"agentCapabilities": capabilities}))
        await self.ends.client.receive()
        meta = {"portico": {"session": SESSION, "workspace": str(self.workspace), **placed}}
        params = {"cwd": str(self.workspace), "mcpServers": [], "_meta": meta}
        self.ends.client.send(frame(id=1, method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "agents-own"}))
        await self.ends.client.receive()
        servers: list[Json] = asked["params"]["mcpServers"]
        self.server_id = servers[0]["serverId"] if servers else ""
        return servers

    async def tools(self) -> list[Json]:
        listing = message(self.server_id, "list", "tools/list")
        found: list[Json] = (await ask(self.ends.agent, "list", "mcp/message", listing))["result"]["result"][
            "tools"
        ]
        return found

    def begin(self, request_id: str, tool: str, **arguments: Any) -> None:
        params = call(self.server_id, request_id, tool, **arguments)
        self.ends.agent.send(frame(id=request_id, method="mcp/message", params=params))

    async def answer(self) -> tuple[str, Json]:
        told = await self.ends.agent.receive()
        return told["id"], told["result"]["result"]

    async def ask(self, **more: Any) -> Json:
        """The agent asks for permission by itself; the question as the person gets it."""
        options = [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "ever", "name": "Always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        tool = {"toolCallId": "t", "title": "mcp__vscode__deploy", "kind": "other", **more}
        params = {"sessionId": "agents-own", "toolCall": tool, "options": options}
        self.ends.agent.send(frame(id="own", method="session/request_permission", params=params))
        return await self.question()

    async def question(self) -> Json:
        asked = await self.ends.client.receive()
        assert asked["method"] == "session/request_permission", asked
        return asked

    def decide(self, asked: Json, option: str) -> None:
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        self.ends.client.send(frame(id=asked["id"], result=outcome))


@asynccontextmanager
async def place(tmp_path: Path, policy: PermissionPolicy | None = None) -> AsyncIterator[Place]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    desk = Desk()
    broker = PermissionBroker(
        agent="fake",
        policy=policy or PermissionPolicy(),
        approvals=FileApprovals(tmp_path / "approvals.json", lambda: 0),
    )
    async with (
        desk.window(workspace) as window,
        chain(broker, EditorTools(desk.windows), McpBridge()) as ends,
    ):
        yield Place(ends, desk, window, workspace)


def echo(question: Any) -> ToolInvocationResult:
    assert isinstance(question, ToolInvocation)
    return ToolInvocationResult(text=f"{question.name} {question.arguments}")


async def test_an_agent_gets_the_tools_of_the_window_and_none_counts_as_read_only(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(SEARCH, DEPLOY)
        (server,) = await here.open()
        assert server["name"] == "vscode"
        first, second = await here.tools()
        assert (first["name"], first["description"]) == ("search_issues", "Searches issues.")
        assert first["inputSchema"] == SCHEMA
        assert second == {"name": "deploy", "description": "deploy", "inputSchema": {"type": "object"}}


async def test_tools_that_come_and_go_do_so_in_the_middle_of_a_session(tmp_path: Path) -> None:
    async with place(tmp_path, ALLOW_ALL) as here:
        here.announce(SEARCH)
        await here.open()
        here.announce(DEPLOY)
        assert [tool["name"] for tool in await here.tools()] == ["deploy"]
        here.announce(SEARCH, session=SESSION)
        assert [tool["name"] for tool in await here.tools()] == ["search_issues"]
        here.desk.windows.update_tools(here.window.id, SESSION, None)
        assert [tool["name"] for tool in await here.tools()] == ["deploy"]


async def test_no_server_is_offered_without_tools_or_in_a_session_that_only_reads(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        assert await here.open() == []
        here.announce(DEPLOY)
        assert await here.open(reads_only=True) == []


async def test_a_call_needs_permission_and_its_result_comes_back(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(SEARCH)
        await here.open()
        picture = ToolImage(mime_type="image/png", data=b"\x89PNG")
        here.window.answers = lambda _: ToolInvocationResult(text="two", images=(picture,))
        here.begin("c1", "search_issues", query="boat")
        asked = await here.question()
        shown = asked["params"]["toolCall"]
        assert (shown["title"], shown["name"]) == ("vscode: search_issues", "vscode__search_issues")
        assert shown["rawInput"] == {"query": "boat"}
        here.decide(asked, "call")
        _, result = await here.answer()
        assert result["content"] == [
            {"type": "text", "text": "two"},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        ]


@pytest.mark.parametrize("policy", [None, PermissionPolicy(deny=(parse_rule("tool:vscode__deploy"),))])
async def test_a_call_that_is_not_allowed_never_reaches_the_window(
    tmp_path: Path, policy: PermissionPolicy | None
) -> None:
    async with place(tmp_path, policy) as here:
        here.announce(DEPLOY)
        await here.open()
        here.begin("c1", "deploy")
        if policy is None:
            here.decide(await here.question(), "leave")
        _, result = await here.answer()
        assert result["isError"]
        assert "did not agree" in result["content"][0]["text"]
        assert here.desk.outcomes == []


async def test_calls_at_the_same_time_get_their_own_results_in_any_order(tmp_path: Path) -> None:
    async with place(tmp_path, ALLOW_ALL) as here:
        here.announce(SEARCH, DEPLOY)
        await here.open()
        for number in range(8):
            here.begin(f"c{number}", "search_issues", query=str(number))
        requests = [await here.window.request() for _ in range(8)]
        for asked in reversed(requests):
            here.desk.windows.reply(asked.request_id, echo(asked.question))
        results = dict([await here.answer() for _ in range(8)])
        assert {name: one["content"][0]["text"] for name, one in results.items()} == {
            f"c{number}": f'search_issues {{"query":"{number}"}}' for number in range(8)
        }


async def test_a_person_is_not_asked_twice_about_a_call(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(DEPLOY)
        await here.open()
        here.window.answers = echo
        here.decide(await here.ask(rawInput={"to": "test"}), "yes")
        await here.ends.agent.receive()
        here.begin("c1", "deploy", to="test")
        assert (await here.answer())[0] == "c1"
        here.begin("c2", "deploy", to="test")
        here.decide(await here.question(), "leave")
        assert (await here.answer())[1]["isError"]


async def test_what_was_allowed_with_other_arguments_or_declined_is_asked_about(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(DEPLOY)
        await here.open()
        for request_id, option in (("c1", "yes"), ("c2", "no")):
            here.decide(await here.ask(rawInput={"to": "test"}), option)
            await here.ends.agent.receive()
            here.begin(request_id, "deploy", to="production")
            here.decide(await here.question(), "leave")
            assert (await here.answer())[1]["isError"]


async def test_a_tool_that_was_allowed_for_good_is_called_without_a_question(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(DEPLOY)
        await here.open()
        here.window.answers = echo
        here.decide(await here.ask(), "ever")
        await here.ends.agent.receive()
        here.begin("c1", "deploy", to="anywhere")
        assert (await here.answer())[1]["content"][0]["text"] == 'deploy {"to":"anywhere"}'


async def test_a_tool_that_fails_and_a_window_that_closes_are_results(tmp_path: Path) -> None:
    async with place(tmp_path, ALLOW_ALL) as here:
        here.announce(DEPLOY)
        await here.open()
        here.window.answers = lambda _: WindowFailure(message="No network.")
        here.begin("c1", "deploy")
        _, result = await here.answer()
        assert (result["isError"], result["content"][0]["text"]) == (True, "No network.")
        here.window.answers = None
        here.begin("c2", "deploy")
        await here.window.request()
        here.desk.windows.of(here.workspace).leave()  # type: ignore[union-attr]
        assert "was closed before it answered" in (await here.answer())[1]["content"][0]["text"]


async def test_lists_of_tools_are_bounded(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.announce(*(WindowTool(name=f"t{number}") for number in range(MOST_TOOLS + 50)), DEPLOY)
        await here.open()
        assert len(await here.tools()) == MOST_TOOLS
        for number in range(MOST_SESSIONS + 1):
            here.announce(DEPLOY, session=f"s{number + 100}")
        window = here.desk.windows.of(here.workspace)
        assert window is not None
        assert len(window.tools(SessionId("s100"))) == MOST_TOOLS
        assert len(window.tools(SessionId("s101"))) == 1
