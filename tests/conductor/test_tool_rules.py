"""Rules for tools of MCP servers, by the name that each agent gives them in its tool calls."""

from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.conductor.permissions.tool_name import mcp_tool_name
from portico.domain import codecs
from portico.domain.tool_names import qualified_tool_name
from tests.conductor.permission_support import (
    KNOWS_PORTICO,
    WORKSPACE,
    Json,
    Scene,
    approvals_in,
    broker,
    policy,
    selected,
)

PORTER = {"toolCallId": "c1", "title": "github: get_issue", "name": "github__get_issue", "kind": "other"}
CLAUDE = {
    "toolCallId": "c1",
    "title": "mcp__github__get_issue",
    "kind": "other",
    "_meta": {"claudeCode": {"toolName": "mcp__github__get_issue"}},
}
CODEX = {
    "toolCallId": "c1",
    "title": "Tool: github/get_issue",
    "rawInput": {"server": "github", "tool": "get_issue", "arguments": {"number": 1}},
}
OPENCODE = {"toolCallId": "c1", "title": "github_get_issue", "kind": "other"}


def call(fields: Json) -> acp.ToolCallUpdate:
    return codecs.convert(fields, acp.ToolCallUpdate)


@pytest.mark.parametrize("fields", [PORTER, CLAUDE, CODEX, {**CLAUDE, "_meta": None}])
def test_porter_claude_and_codex_name_the_tool(fields: Json) -> None:
    assert mcp_tool_name(call(fields)).known == "github__get_issue"


UNCERTAIN = [
    (OPENCODE, "github__get_issue"),
    (OPENCODE, "github_get__issue"),
    ({**CLAUDE, "_meta": {"claudeCode": {"toolName": "mcp__a__b__c"}}}, "a__b__c"),
    ({**CODEX, "rawInput": {"server": "github", "tool": "delete_repo"}}, "github__get_issue"),
]


@pytest.mark.parametrize(("fields", "reading"), UNCERTAIN)
def test_a_name_that_can_be_read_in_two_ways_is_not_certain(fields: Json, reading: str) -> None:
    name = mcp_tool_name(call(fields))
    assert name.known is None
    assert reading in name.readings


NO_TOOLS = [
    {"toolCallId": "c1", "title": "mcp__github__get_issue", "kind": "execute"},
    {"toolCallId": "c1", "title": "mcp__github__get_issue", "kind": "fetch"},
    {**CLAUDE, "_meta": {"claudeCode": {"toolName": "WebSearch"}}},
    {"toolCallId": "c1", "title": "Run tests"},
]


@pytest.mark.parametrize("fields", NO_TOOLS)
def test_words_of_the_model_name_no_tool(fields: Json) -> None:
    assert mcp_tool_name(call(fields)).readings == ()


@pytest.mark.parametrize(
    ("server", "tool"), [("a__b", "c"), ("a", "b__c"), ("a_", "_b"), ("mcp server", "find/all"), ("", "")]
)
def test_a_qualified_name_says_where_the_server_ends(server: str, tool: str) -> None:
    name = qualified_tool_name(server, tool)
    assert name.count("__") == 1
    assert "___" not in name
    assert mcp_tool_name(acp.ToolCallUpdate(tool_call_id="c", name=name)).known == name


@pytest.mark.parametrize("fields", [PORTER, CLAUDE, CODEX])
@pytest.mark.parametrize(
    "rule", ["tool:github__get_issue", "tool:github__get_*", "tool", "fake/tool:github__*"]
)
async def test_a_rule_allows_a_tool_of_every_agent(tmp_path: Path, fields: Json, rule: str) -> None:
    async with broker(approvals_in(tmp_path), policy(allow=[rule])) as scene:
        scene.ask({"rawInput": {"url": "https://example.org", "path": "/etc"}, **fields})
        assert await scene.chosen() == "yes"
        await scene.nothing_more()


@pytest.mark.parametrize("rule", ["tool:github__GET_*", "tool:*__get_issue", "tool"])
async def test_a_denial_of_a_tool_wins(tmp_path: Path, rule: str) -> None:
    async with broker(approvals_in(tmp_path), policy(allow=["all", "tool"], deny=[rule])) as scene:
        scene.ask(CLAUDE)
        assert await scene.chosen() == "no"
        await scene.nothing_more()


@pytest.mark.parametrize(
    "rules", [{"allow": ["tool:github__*"]}, {"allow": ["all"], "deny": ["tool:github__*"]}]
)
@pytest.mark.parametrize("fields", [OPENCODE, UNCERTAIN[3][0]])
async def test_a_person_decides_about_a_name_that_is_not_certain(
    tmp_path: Path, fields: Json, rules: dict[str, Any]
) -> None:
    async with broker(approvals_in(tmp_path), policy(**rules)) as scene:
        scene.ask(fields)
        question = await scene.shown()
        scene.to_agent(id=question["id"], result=selected("no"))
        assert await scene.chosen() == "no"


async def test_a_rule_for_another_tool_or_server_covers_nothing(tmp_path: Path) -> None:
    rules = policy(allow=["tool:github__get_pull", "tool:git__*", "other/tool"])
    async with broker(approvals_in(tmp_path), rules) as scene:
        scene.ask(CLAUDE)
        await scene.shown()


async def test_a_tool_rule_covers_no_change_of_a_protected_file(tmp_path: Path) -> None:
    diff = {"type": "diff", "path": f"{WORKSPACE}/.vscode/tasks.json", "newText": "{}"}
    async with broker(approvals_in(tmp_path), policy(allow=["tool"])) as scene:
        scene.ask({**CLAUDE, "content": [diff]})
        await scene.shown()


async def test_always_keeps_the_tool_and_not_its_arguments(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    async with broker(approvals, knows_portico=True) as scene:
        scene.ask({**CLAUDE, "rawInput": {"number": 1}})
        question = await scene.shown()
        assert question["params"]["_meta"]["portico"]["rule"] == "tool:github__get_issue"
        scene.to_agent(id=question["id"], result=selected("yes", _meta={"portico": {"scope": "always"}}))
        assert await scene.chosen() == "yes"
        scene.ask({**CLAUDE, "toolCallId": "c2", "rawInput": {"number": 2}})
        assert (await scene.told())["rule"] == "tool:github__get_issue"
        assert await scene.chosen() == "yes"
    assert [one.rule for one in approvals.list()] == ["tool:github__get_issue"]


async def test_no_rule_is_offered_for_a_tool_that_is_given_a_command(tmp_path: Path) -> None:
    async with broker(approvals_in(tmp_path), knows_portico=True) as scene:
        scene.ask({**CLAUDE, "rawInput": {"command": "make"}})
        assert (await scene.shown())["params"]["_meta"]["portico"]["scopes"] == ["once"]


async def test_in_a_session_that_only_reads_a_tool_is_allowed_by_its_whole_name(tmp_path: Path) -> None:
    placed = {"cwd": WORKSPACE, "mcpServers": [], "_meta": {"portico": {"reads_only": True}}}
    rules = policy(allow=["tool:github__*", "tool:git__log"])
    async with broker(approvals_in(tmp_path), rules) as scene:
        await scene.call("session/new", placed, {"sessionId": "reads"})
        scene.ask({**PORTER, "name": "git__log"}, session_id="reads")
        assert await scene.chosen() == "yes"
        scene.ask(PORTER, session_id="reads")
        await scene.shown()


READ_ONLY = {
    **PORTER,
    "_meta": {"portico": {"readOnly": True}},
    "rawInput": {"number": 1, "path": "src/a.py"},
}


async def asks(scene: Scene, fields: Json) -> bool:
    """Whether a person is asked about a call; if not, it is allowed."""
    request = scene.ask(fields)
    scene.to_client(method="_mark")
    first = await scene.ends.client.receive()
    if first["method"] == "_mark":
        assert await scene.answer() == {"jsonrpc": "2.0", "id": request, "result": selected("yes")}
        return False
    assert (await scene.ends.client.receive())["method"] == "_mark"
    scene.to_agent(id=first["id"], result=selected("no"))
    assert await scene.chosen() == "no"
    return True


async def test_nothing_is_asked_or_told_about_a_tool_of_porter_that_only_reads(tmp_path: Path) -> None:
    async with broker(approvals_in(tmp_path), knows_portico=True, trusts_read_only=True) as scene:
        assert not await asks(scene, READ_ONLY)


async def test_the_word_of_another_agent_that_a_tool_only_reads_grants_nothing(tmp_path: Path) -> None:
    async with broker(approvals_in(tmp_path)) as scene:
        assert await asks(scene, READ_ONLY)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/etc/passwd"},
        {"name": "../elsewhere"},
        {"path": ".env"},
        {"anything": {"deep": ["keys/id_rsa"]}},
        {"url": "https://example.org/?q=secret"},
        {"q": "https://example.org"},
        {"command": "make"},
        {"cwd": "/elsewhere"},
        {"paths": [f"file{number}" for number in range(2000)]},
    ],
)
async def test_a_tool_that_only_reads_is_asked_about_where_it_leads_out(
    tmp_path: Path, arguments: Json
) -> None:
    async with broker(approvals_in(tmp_path), trusts_read_only=True) as scene:
        assert await asks(scene, {**READ_ONLY, "rawInput": arguments})


async def test_denials_hold_for_tools_that_only_read(tmp_path: Path) -> None:
    rules = policy(deny=["tool:github__get_*", "read:secret/**"])
    async with broker(approvals_in(tmp_path), rules, trusts_read_only=True) as scene:
        scene.ask(READ_ONLY)
        assert await scene.chosen() == "no"
        other = {**READ_ONLY, "name": "files__read"}
        assert await asks(scene, {**other, "rawInput": {"path": "secret/plan.md"}})
        assert not await asks(scene, {**other, "rawInput": {"path": "public/plan.md"}})


@pytest.mark.parametrize("trusts", [True, False])
async def test_only_porter_is_told_of_the_broker(tmp_path: Path, trusts: bool) -> None:
    async with broker(approvals_in(tmp_path), trusts_read_only=trusts) as scene:
        scene.to_agent(id=1, method="initialize", params=KNOWS_PORTICO)
        told = (await scene.answer())["params"]["clientCapabilities"]["_meta"]["portico"]
        assert told == ({"permissions": 1, "broker": 1} if trusts else {"permissions": 1})
