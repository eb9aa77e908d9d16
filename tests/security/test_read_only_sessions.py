"""Agents that ask to change something, or just do it, in a session that only reads."""

from pathlib import Path
from typing import Any

import pytest

from portico.conductor.permissions.policy import PermissionRule
from tests.conductor.permission_support import AGENT, WORKSPACE, Json, Scene, approvals_in, broker, policy
from tests.support.program import Portico

READS_ONLY = {"portico": {"reads_only": True}}
CHANGES: list[Json] = [
    {"kind": "edit", "locations": [{"path": f"{WORKSPACE}/a.py"}]},
    {"kind": "delete", "locations": [{"path": f"{WORKSPACE}/a.py"}]},
    {"kind": "move", "rawInput": {"source": "a.py", "destination": "b.py"}},
    {"kind": "execute", "rawInput": {"command": "ls"}},
    {"kind": "read", "rawInput": {"command": "ls"}},
    {"kind": "other", "content": [{"type": "diff", "path": f"{WORKSPACE}/a.py", "newText": "x"}]},
]
ERRANDS: list[tuple[str, Json]] = [
    ("fs/write_text_file", {"path": f"{WORKSPACE}/a.py", "content": "x"}),
    ("terminal/create", {"command": "ls"}),
]


async def open_reading(scene: Scene, session_id: str = "reading") -> str:
    params = {"cwd": WORKSPACE, "mcpServers": [], "_meta": READS_ONLY}
    await scene.call("session/new", params, {"sessionId": session_id})
    return session_id


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["kind"])
@pytest.mark.parametrize("by", ["rule", "bypass", "approval", "person"])
async def test_nothing_approves_a_change_or_a_command(tmp_path: Path, change: Json, by: str) -> None:
    approvals = approvals_in(tmp_path)
    if by == "approval":
        for kind in ("edit", "delete", "move", "execute", "other", "read"):
            approvals.add(PermissionRule(kind, "**", AGENT), workspace=WORKSPACE)
            approvals.add(PermissionRule(kind, None, AGENT), workspace=WORKSPACE)
    rules = policy(allow=["all", "edit:**", "execute:*"] if by == "rule" else [], bypass=by == "bypass")
    async with broker(approvals, rules, knows_portico=True) as scene:
        session_id = await open_reading(scene)
        scene.ask({"toolCallId": "c1", "title": "Do it", **change}, session_id=session_id)
        told = await scene.told()
        assert (told["outcome"], told["source"], told["rule"]) == ("denied", "read_only", None)
        assert await scene.chosen() == "no"
        await scene.nothing_more()


@pytest.mark.parametrize(("method", "params"), ERRANDS)
@pytest.mark.parametrize("session_id", ["reading", "nobody's"])
async def test_nothing_is_written_or_run_for_an_agent_that_does_not_ask(
    tmp_path: Path, method: str, params: Json, session_id: str
) -> None:
    async with broker(approvals_in(tmp_path), policy(bypass=True), knows_portico=True) as scene:
        await open_reading(scene)
        scene.to_client(id=7, method=method, params={"sessionId": session_id, **params})
        assert (await scene.told())["source"] == "read_only"
        assert "read-only" in (await scene.answer())["error"]["message"]
        await scene.nothing_more()


@pytest.mark.parametrize("opening", ["session/load", "session/resume"])
async def test_a_session_that_is_opened_again_still_only_reads(tmp_path: Path, opening: str) -> None:
    async with broker(approvals_in(tmp_path), policy(bypass=True)) as scene:
        params = {"sessionId": "old", "cwd": WORKSPACE, "mcpServers": [], "_meta": READS_ONLY}
        await scene.call(opening, params, {})
        scene.ask({"toolCallId": "c1", "title": "x", "kind": "edit"}, session_id="old")
        assert await scene.chosen() == "no"


async def test_a_tool_that_may_do_anything_is_allowed_by_its_name_only(tmp_path: Path) -> None:
    async with broker(
        approvals_in(tmp_path), policy(allow=["all", "other:docs: find"], bypass=True)
    ) as scene:
        session_id = await open_reading(scene)
        scene.ask({"toolCallId": "c1", "title": "docs: find", "kind": "other"}, session_id=session_id)
        assert await scene.chosen() == "yes"
        scene.ask({"toolCallId": "c2", "title": "docs: replace", "kind": "other"}, session_id=session_id)
        await scene.shown()


async def test_reading_goes_on_and_so_do_other_sessions(tmp_path: Path) -> None:
    async with broker(approvals_in(tmp_path), policy(allow=["all"])) as scene:
        session_id = await open_reading(scene)
        for kind in ("read", "search", "fetch", "think"):
            scene.ask({"toolCallId": "c1", "title": "Look", "kind": kind}, session_id=session_id)
            assert await scene.chosen() == "yes"
        scene.ask({"toolCallId": "c1", "title": "Edit", "kind": "edit"})
        assert await scene.chosen() == "yes"


def test_exec_with_read_only_approves_no_edit_and_no_command(portico: Portico) -> None:
    def ask(kind: str, **tool: Any) -> list[Json]:
        call = {"id": kind, "title": "make", "kind": kind, "statuses": ["pending"], **tool}
        answers = {"allowed": [{"say": "went on "}], "rejected": [{"say": "held back "}]}
        return [{"tool": call}, {"permission": {"tool": kind, "title": "make", "kind": kind, **answers}}]

    place = [{"path": f"{portico.workspace}/a.py"}]
    steps = [*ask("edit", locations=place), *ask("execute"), {"write": {"path": "a.py", "content": "x"}}]
    ran = portico.exec(
        steps, "--read-only", "--allow", "all", "--allow", "edit:**", "--allow", "execute:make"
    )
    assert ran.stream.answer.startswith("held back held back ")
    assert "read-only" in ran.stream.answer
    resolved = ran.stream.all("permission_resolved")
    assert [(one["outcome"], one["by"], one["rule"]) for one in resolved] == [
        ("denied", "policy", "read_only")
    ] * 3
    assert not (portico.workspace / "a.py").exists()
