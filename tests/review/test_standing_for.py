"""What other proxies make of a session that works in a folder of its own, which stands for a workspace."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.conductor.deeds import Deed, deed_of
from portico.conductor.policy import parse_rule
from portico.conductor.proxies.editor_context import EditorContext
from portico.conductor.proxies.permissions import PermissionBroker
from portico.review.translation import Translation
from tests.conductor.permission_support import NO, ONCE, Scene, approvals_in, policy
from tests.conductor.support import Ends, chain

WORKSPACE, FOLDER = "/home/mia/app", "/state/workplaces/01jd0q7/app"
NOW = 1_767_225_600.0
Json = dict[str, Any]


def edit(path: str) -> Deed:
    call = acp.ToolCallUpdate(tool_call_id="c", kind="edit", locations=[acp.ToolCallLocation(path=path)])
    return deed_of(call, agent="fake", workspace=WORKSPACE, folder=FOLDER)


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
    async with chain(Translation(), broker) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await open_session(ends, FOLDER, WORKSPACE)
        call = {
            "toolCallId": "e1",
            "kind": "edit",
            "title": "Edit",
            "locations": [{"path": f"{FOLDER}/src/a.py"}],
        }
        params = {"sessionId": "s1", "toolCall": call, "options": [ONCE, NO]}
        scene.to_client(id=7, method="session/request_permission", params=params)
        asked = await ends.client.receive()
        assert asked["params"]["toolCall"]["locations"] == [{"path": f"{WORKSPACE}/src/a.py"}]
        chosen = {
            "outcome": {"outcome": "selected", "optionId": "yes"},
            "_meta": {"portico": {"scope": "always"}},
        }
        scene.to_agent(id=asked["id"], result=chosen)
        assert (await ends.agent.receive())["result"]["outcome"]["optionId"] == "yes"
        (kept,) = approvals.list()
        assert (kept.workspace, kept.rule) == (WORKSPACE, "edit:src/a.py")


async def test_the_agent_is_told_of_the_file_that_the_person_looks_at(tmp_path: Path) -> None:
    workspace = tmp_path / "app"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.py").touch()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"activeFile": str(workspace / "src" / "a.py"), "openFiles": []}))
    os.utime(state, (NOW, NOW))
    async with chain(EditorContext(state, lambda: NOW), Translation()) as ends:
        await ends.initialize()
        await open_session(ends, FOLDER, str(workspace))
        prompt = {"sessionId": "s1", "prompt": [{"type": "text", "text": "Explain this."}]}
        ends.client.send(
            json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt})
        )
        asked = await ends.agent.receive()
        assert "Active file: src/a.py" in asked["params"]["prompt"][0]["text"]
