"""Other proxies in a session with its own folder in place of the workspace."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.conductor.permissions.action import RequestedAction, requested_action
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import parse_rule
from portico.conductor.proxies.editor_context import EditorContext
from portico.domain import codecs
from portico.review.acp.path_translation import PathTranslation
from tests.conductor.permission_support import NO, ONCE, Scene, approvals_in, policy
from tests.conductor.support import Ends, chain

WORKSPACE, FOLDER = "/home/mia/app", "/state/workplaces/01jd0q7/app"
NOW = 1_767_225_600.0
Json = dict[str, Any]


def edit(path: str) -> RequestedAction:
    call = acp.ToolCallUpdate(tool_call_id="c", kind="edit", locations=[acp.ToolCallLocation(path=path)])
    return requested_action(call, agent="fake", workspace=WORKSPACE, folder=FOLDER)


def question(kind: str, *paths: str) -> Json:
    """A question of the agent about files, or about one in its own folder."""
    locations = [{"path": path} for path in paths or (f"{FOLDER}/src/a.py",)]
    call = {"toolCallId": "e1", "kind": kind, "title": "Do it", "locations": locations}
    return {"sessionId": "s1", "toolCall": call, "options": [ONCE, NO]}


@pytest.mark.parametrize("rule", ["edit:src/**", f"edit:{WORKSPACE}/src/**", "edit"])
def test_rules_for_the_workspace_hold_in_the_folder_that_stands_for_it(rule: str) -> None:
    deed = edit(f"{FOLDER}/src/a.py")
    assert parse_rule(rule).covers(deed)
    assert parse_rule(rule).touches(deed)
    assert deed.workspace == WORKSPACE


def test_what_is_allowed_in_the_folder_is_not_allowed_in_the_persons_own_files() -> None:
    assert parse_rule("edit:src/**").covers(edit("src/a.py"))
    assert not parse_rule("edit:src/**").covers(edit(f"{WORKSPACE}/src/a.py"))


def test_what_is_denied_stays_denied_in_the_persons_own_files() -> None:
    assert parse_rule("edit:src/**").touches(edit(f"{WORKSPACE}/src/a.py"))


async def open_session(ends: Ends, cwd: str, workspace: str) -> None:
    params = {"cwd": cwd, "mcpServers": [], "_meta": {"portico": {"workspace": workspace}}}
    ends.client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}))
    await ends.agent.receive()
    ends.agent.send('{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}')
    await ends.client.receive()


async def test_an_approval_for_good_is_remembered_for_the_workspace(tmp_path: Path) -> None:
    approvals = approvals_in(tmp_path)
    broker = PermissionBroker(agent="fake", policy=policy(), approvals=approvals)
    async with chain(PathTranslation(), broker) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await open_session(ends, FOLDER, WORKSPACE)
        scene.to_client(id=7, method="session/request_permission", params=question("read"))
        asked = await ends.client.receive()
        assert asked["params"]["toolCall"]["locations"] == [{"path": f"{WORKSPACE}/src/a.py"}]
        chosen = {
            "outcome": {"outcome": "selected", "optionId": "yes"},
            "_meta": {"portico": {"scope": "always"}},
        }
        scene.to_agent(id=asked["id"], result=chosen)
        assert (await ends.agent.receive())["result"]["outcome"]["optionId"] == "yes"
        (kept,) = approvals.list()
        assert (kept.workspace, kept.rule) == (WORKSPACE, "read:src/a.py")


@pytest.mark.parametrize("kind", ["edit", "delete", "move"])
async def test_nobody_is_asked_about_changes_that_will_be_reviewed(tmp_path: Path, kind: str) -> None:
    broker = PermissionBroker(agent="fake", policy=policy(), approvals=approvals_in(tmp_path))
    async with chain(PathTranslation(), broker) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await open_session(ends, FOLDER, WORKSPACE)
        scene.to_client(id=7, method="session/request_permission", params=question(kind))
        assert (await ends.agent.receive())["result"]["outcome"]["optionId"] == "yes"
        scene.to_client(method="session/update", params={"sessionId": "s1", "update": {}})
        assert (await ends.client.receive())["method"] == "session/update"


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("execute", [f"{FOLDER}/run.sh"]),
        ("edit", [f"{WORKSPACE}/src/a.py"]),
        ("edit", [f"{FOLDER}/src/a.py", "/etc/hosts"]),
        ("edit", [f"{FOLDER}/../other/src/a.py"]),
        ("other", [f"{FOLDER}/src/a.py"]),
    ],
)
async def test_whatever_else_it_may_be_is_asked(tmp_path: Path, kind: str, paths: list[str]) -> None:
    broker = PermissionBroker(agent="fake", policy=policy(), approvals=approvals_in(tmp_path))
    async with chain(PathTranslation(), broker) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await open_session(ends, FOLDER, WORKSPACE)
        scene.to_client(id=7, method="session/request_permission", params=question(kind, *paths))
        assert (await ends.client.receive())["method"] == "session/request_permission"


async def test_what_is_denied_is_not_made_for_review_either(tmp_path: Path) -> None:
    broker = PermissionBroker(
        agent="fake", policy=policy(deny=["edit:src/**"]), approvals=approvals_in(tmp_path)
    )
    async with chain(PathTranslation(), broker) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await open_session(ends, FOLDER, WORKSPACE)
        scene.to_client(id=7, method="session/request_permission", params=question("edit"))
        assert (await ends.client.receive())["params"]["source"] == "deny_rule"


def test_a_change_of_nobody_knows_what_is_not_in_the_folder() -> None:
    call = acp.ToolCallUpdate(tool_call_id="c", kind="edit")
    assert not requested_action(call, agent="fake", workspace=WORKSPACE, folder=FOLDER).in_working_copy


async def test_a_link_that_leads_out_of_the_folder_is_asked_about(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    call = acp.ToolCallUpdate(
        tool_call_id="c", kind="edit", locations=[acp.ToolCallLocation(path=str(folder / "link" / "a.py"))]
    )
    assert not requested_action(call, agent="fake", workspace=WORKSPACE, folder=str(folder)).in_working_copy


async def test_the_agent_is_told_of_the_file_that_the_person_looks_at(tmp_path: Path) -> None:
    workspace = tmp_path / "app"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.py").touch()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"activeFile": str(workspace / "src" / "a.py"), "openFiles": []}))
    os.utime(state, (NOW, NOW))
    async with chain(EditorContext(state, lambda: NOW), PathTranslation()) as ends:
        await ends.initialize()
        await open_session(ends, FOLDER, str(workspace))
        prompt = {"sessionId": "s1", "prompt": [{"type": "text", "text": "Explain this."}]}
        ends.client.send(
            json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt})
        )
        asked = await ends.agent.receive()
        assert "Active file: src/a.py" in asked["params"]["prompt"][0]["text"]


@pytest.mark.parametrize(
    "told",
    [
        {"locations": [{"path": "~/.profile"}]},
        {"locations": [{"path": "$HOME/.profile"}]},
        {"locations": [{"path": "file:/etc/hosts"}]},
        {"locations": [{"path": f"{FOLDER}/.git/hooks/post-checkout"}]},
        {"locations": [{"path": f"{FOLDER}/a.py"}], "rawInput": {"command": "rm -r /"}},
        {"locations": [{"path": f"{FOLDER}/a.py"}], "rawInput": {"file_path": f"{WORKSPACE}/a.py"}},
        {"locations": [{"path": f"{FOLDER}/a.py"}], "rawInput": {"filePath": "../../a.py"}},
    ],
)
def test_a_change_that_tells_of_more_than_files_in_the_folder_is_asked_about(told: dict[str, Any]) -> None:
    call = codecs.convert({"toolCallId": "1", "kind": "edit", **told}, acp.ToolCallUpdate)
    assert not requested_action(call, agent="fake", workspace=WORKSPACE, folder=FOLDER).in_working_copy


def test_what_an_agent_tells_of_a_file_in_the_folder_beside_its_place_makes_no_difference() -> None:
    told = {"file_path": f"{FOLDER}/a.py", "old_string": "/etc", "new_string": "$HOME"}
    call = codecs.convert(
        {"toolCallId": "1", "kind": "edit", "locations": [{"path": f"{FOLDER}/a.py"}], "rawInput": told},
        acp.ToolCallUpdate,
    )
    assert requested_action(call, agent="fake", workspace=WORKSPACE, folder=FOLDER).in_working_copy
