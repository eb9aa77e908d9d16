"""Agents that write the files which make a person's programs run something, or which grant something."""

import asyncio
import json
from pathlib import Path

import pytest

from portico.conductor.permissions.policy import PermissionRule, parse_rule
from portico.domain.protected_files import controlling_program
from portico.review.proposals.marks import mark
from portico.review.proposals.protection import Protection
from portico.review.text.change_set import ChangeSet
from tests.conductor.permission_support import (
    AGENT,
    SESSION,
    WORKSPACE,
    Json,
    Scene,
    approvals_in,
    broker,
    edit,
    policy,
    selected,
)
from tests.review.folders import change
from tests.security.test_permission_requests import deed
from tests.support.program import Portico

PROTECTED = [
    ".portico/settings.json",
    ".portico/prompts/a.md",
    "sub/.portico/settings.json",
    ".PORTICO/settings.json",
    ".gitattributes",
    "sub/.gitattributes",
    ".gitmodules",
    ".git/hooks/pre-commit",
    ".husky/pre-commit",
    ".githooks/x",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".vscode/tasks.json",
    ".VSCODE/settings.json",
    "my.code-workspace",
    ".idea/workspace.xml",
    ".devcontainer/devcontainer.json",
    ".zed/tasks.json",
    ".agents/skills/deploy/SKILL.md",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".mcp.json",
    ".gemini/settings.json",
    "opencode.json",
    ".envrc",
    "mise.toml",
    ".bashrc",
    ".profile",
    ".zshenv",
    ".vimrc",
    ".dir-locals.el",
    ".cargo/config.toml",
    ".hg/hgrc",
]
ORDINARY = [
    "src/a.py",
    ".gitignore",
    "README.md",
    "package.json",
    "Makefile",
    "vscode/settings.json",
    "idea/a.py",
    "claude.py",
    ".github/workflows/ci.yml",
    "portico/settings.json",
    "settings.json",
    "tasks.json",
    ".editorconfig",
    ".prettierrc",
    "cargo/config.toml",
    "CLAUDE.md",
    "gitattributes",
]
SETTINGS = f"{WORKSPACE}/.portico/settings.json"
WRITE: Json = {"sessionId": SESSION, "path": SETTINGS, "content": "{}"}


@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_file_is_known_by_its_name_and_allowed_by_a_rule_that_names_it(path: str) -> None:
    assert controlling_program(path.split("/"))
    asked = deed("edit", None, f"{WORKSPACE}/{path}")
    for wide in ("edit", "all", "edit:**", "edit:*", "edit:.*", f"edit:{WORKSPACE}/**", "edit:**/*.json"):
        assert not parse_rule(wide).covers(asked)
    assert parse_rule(f"edit:{path}").covers(asked)
    assert parse_rule("edit:.*").touches(deed("edit", None, f"{WORKSPACE}/.x"))


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_file_is_not_protected(path: str) -> None:
    assert controlling_program(path.split("/")) is None
    assert parse_rule("edit").covers(deed("edit", None, f"{WORKSPACE}/{path}"))


@pytest.mark.parametrize(
    ("rule", "path", "covered"),
    [
        ("edit:.vscode/**", ".vscode/tasks.json", True),
        ("edit:**/.gitattributes", "sub/.gitattributes", True),
        (f"edit:{WORKSPACE}/.vscode/*", ".vscode/tasks.json", True),
        ("edit:.vscode/**", ".portico/settings.json", False),
        ("edit:s*/**", "sub/.portico/settings.json", False),
        ("edit:.v*/**", ".vscode/tasks.json", False),
        ("edit:[.]vscode/**", ".vscode/tasks.json", False),
    ],
)
def test_which_rules_name_a_protected_file(rule: str, path: str, covered: bool) -> None:
    assert parse_rule(rule).covers(deed("edit", None, f"{WORKSPACE}/{path}")) == covered


@pytest.mark.parametrize("kind", ["edit", "delete", "move"])
def test_a_change_that_names_a_protected_file_anywhere_is_one_of_it(kind: str) -> None:
    inputs: list[Json] = [{"destination": SETTINGS}, {"also": {"x": SETTINGS}}, {"changes": {SETTINGS: {}}}]
    for told in inputs:
        assert not parse_rule(kind).covers(deed(kind, told, f"{WORKSPACE}/src/a.py"))
    assert parse_rule("read").covers(deed("read", None, SETTINGS))


class TestInTheBroker:
    @pytest.mark.parametrize("by", ["rule", "bypass", "approval"])
    async def test_nothing_wide_allows_it(self, tmp_path: Path, by: str) -> None:
        approvals = approvals_in(tmp_path)
        if by == "approval":
            approvals.add(PermissionRule("edit", None, AGENT), workspace=WORKSPACE)
            approvals.add(PermissionRule("edit", "**", AGENT), workspace=WORKSPACE)
        rules = policy(allow=["all", "edit", "edit:**"] if by == "rule" else [], bypass=by == "bypass")
        async with broker(approvals, rules) as scene, asyncio.timeout(20):
            scene.ask(edit(".portico/settings.json"))
            await scene.shown()
            scene.ask(edit("src/a.py"))
            assert await scene.chosen() == "yes"

    async def test_allowing_it_for_good_allows_this_file(self, tmp_path: Path) -> None:
        async with broker(approvals_in(tmp_path)) as scene, asyncio.timeout(20):
            scene.ask(edit(".vscode/tasks.json"))
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:always"))
            assert await scene.chosen() == "yes"
            scene.ask(edit(".vscode/tasks.json"))
            assert await scene.chosen() == "yes"
            scene.ask(edit(".vscode/settings.json"))
            await scene.shown()

    @pytest.mark.parametrize("knows_portico", [False, True])
    @pytest.mark.parametrize("answer", ["allow", "deny", "error"])
    async def test_a_write_without_a_question_is_put_to_the_person(
        self, tmp_path: Path, knows_portico: bool, answer: str
    ) -> None:
        async with broker(approvals_in(tmp_path), policy(bypass=True), knows_portico=knows_portico) as scene:
            scene.to_client(id=7, method="fs/write_text_file", params=WRITE)
            shown = await scene.shown()
            call = shown["params"]["toolCall"]
            assert (call["kind"], call["locations"]) == ("edit", [{"path": SETTINGS}])
            assert call["content"] == [{"type": "diff", "path": SETTINGS, "newText": "{}"}]
            if answer == "error":
                scene.to_agent(id=shown["id"], error={"code": -32603, "message": "nobody there"})
            else:
                scene.to_agent(id=shown["id"], result=selected(answer))
            if answer == "allow":
                assert (await scene.ends.client.receive())["params"] == WRITE
            else:
                assert "did not allow" in (await scene.answer())["error"]["message"]
            await scene.nothing_more()

    async def test_a_write_that_was_allowed_is_not_asked_about_twice(self, tmp_path: Path) -> None:
        async with broker(approvals_in(tmp_path)) as scene, asyncio.timeout(20):
            scene.ask(edit(".portico/settings.json"))
            scene.to_agent(id=(await scene.shown())["id"], result=selected("yes"))
            assert await scene.chosen() == "yes"
            await written(scene)
            scene.to_client(id=8, method="fs/write_text_file", params=WRITE)
            await scene.shown()

    @pytest.mark.parametrize("knows_portico", [False, True])
    async def test_what_belongs_to_git_is_asked_about_where_it_is_not_refused_anyway(
        self, tmp_path: Path, knows_portico: bool
    ) -> None:
        write = {**WRITE, "path": f"{WORKSPACE}/.git/hooks/pre-commit"}
        async with broker(approvals_in(tmp_path), knows_portico=knows_portico) as scene, asyncio.timeout(20):
            scene.to_client(id=7, method="fs/write_text_file", params=write)
            method = (await scene.ends.client.receive())["method"]
            assert method == ("fs/write_text_file" if knows_portico else "session/request_permission")

    async def test_a_rule_that_names_it_lets_it_be_written(self, tmp_path: Path) -> None:
        async with broker(approvals_in(tmp_path), policy(allow=["edit:.portico/**"])) as scene:
            await written(scene)
            await scene.nothing_more()

    async def test_in_a_tree_that_is_reviewed_it_is_written_and_marked(self, tmp_path: Path) -> None:
        async with broker(approvals_in(tmp_path)) as scene, asyncio.timeout(20):
            placed = {"portico": {"workspace": WORKSPACE, "mode": "proposal"}}
            opening = {"cwd": "/own/tree", "mcpServers": [], "_meta": placed}
            await scene.call("session/new", opening, {"sessionId": "reviewed"})
            own = {"sessionId": "reviewed", "path": "/own/tree/.vscode/tasks.json", "content": "{}"}
            scene.to_client(id=7, method="fs/write_text_file", params=own)
            assert (await scene.ends.client.receive())["params"] == own
            gits = {**own, "path": "/own/tree/.git/hooks/x"}
            scene.to_client(id=9, method="fs/write_text_file", params=gits)
            assert (await scene.ends.client.receive())["params"] == gits  # The files of the tree refuse it.
            real = {**own, "path": f"{WORKSPACE}/.vscode/tasks.json"}
            scene.to_client(id=8, method="fs/write_text_file", params=real)
            await scene.shown()


async def written(scene: Scene) -> None:
    scene.to_client(id=7, method="fs/write_text_file", params=WRITE)
    assert (await scene.ends.client.receive())["params"] == WRITE


@pytest.mark.parametrize("path", [".portico/settings.json", ".gitattributes", ".vscode/tasks.json"])
def test_a_proposal_marks_them(tmp_path: Path, path: str) -> None:
    changes = ChangeSet((change(path, None, b"{}\n"), change("a.py", None, b"x\n")))
    marks = mark(tmp_path, changes, Protection())
    assert "look closely" in (marks[path].warning or "")
    assert not marks[path].denied
    assert marks["a.py"].warning is None


def test_exec_lets_no_agent_give_itself_permissions(portico: Portico) -> None:
    granting = json.dumps({"permissions": {"allow": ["all"]}})
    steps = [{"write": {"path": ".portico/settings.json", "content": granting}}]
    ran = portico.exec(steps, "--allow", "all")
    assert not (portico.workspace / ".portico" / "settings.json").exists()
    assert ran.stream.only("permission_resolved")["outcome"] == "denied"
    assert portico.exec(steps, "--allow", "edit:.portico/**").code == 0
    assert (portico.workspace / ".portico" / "settings.json").read_text() == granting
