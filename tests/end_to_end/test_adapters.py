"""An editor without files or terminals works with agents that need both, because the chain supplies them."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import PEERS, Editor, typescript_agent
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json

Drive = Callable[..., Json]


@pytest.fixture
def drive(portico: Portico) -> Drive:
    """Let the minimal client of the Python SDK send one prompt to an agent behind `portico acp`."""

    def go(prompt: str, agent: str, *flags: str) -> Json:
        command = [sys.executable, str(PEERS / "minimal_client.py"), str(portico.workspace), prompt]
        done = subprocess.run(
            [*command, str(PROGRAM), "acp", "--agent-command", agent, *flags],
            cwd=portico.workspace,
            env=portico.environ(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        told: Json = json.loads(done.stdout)
        return told

    return go


def python_agent(portico: Portico) -> str:
    return shlex.join([sys.executable, str(PEERS / "sdk_agent.py"), str(portico.home / "conversations")])


def notes(portico: Portico) -> Path:
    path = portico.workspace / "notes.txt"
    path.write_text("old\n")
    return path


def test_a_minimal_client_works_with_an_agent_that_writes_files(portico: Portico, drive: Drive) -> None:
    path = notes(portico)
    told = drive("tour", typescript_agent(portico))
    assert (told["error"], told["stopped"], told["asked"]) == (None, "end_turn", 1)
    assert path.read_text() == "changed ✓\n"
    assert told["capabilities"]["mcpCapabilities"]["acp"]


def test_without_the_adapter_it_does_not(portico: Portico, drive: Drive) -> None:
    path = notes(portico)
    told = drive("tour", typescript_agent(portico), "--no-component", "editor")
    assert told["error"] is not None
    assert path.read_text() == "old\n"


def test_what_is_denied_is_not_written_by_the_adapter_either(portico: Portico, drive: Drive) -> None:
    path = notes(portico)
    portico.settings({"permissions": {"deny": ["edit:notes.txt"]}})
    told = drive(f"write {path} new", python_agent(portico))
    assert "denied by the rule" in json.dumps(told)
    assert path.read_text() == "old\n"


def test_changes_are_reviewed_as_in_any_editor(portico: Portico) -> None:
    path = notes(portico)
    editor = Editor(portico, "--agent-command", typescript_agent(portico), "--mode", "proposal")
    editor.capabilities = {}
    prompt = editor.prompt(editor.open_session(), "tour")
    while (question := editor.receive()).get("method") != "session/request_permission":
        assert not question.get("method", "").startswith(("fs/", "terminal/"))
    assert path.read_text() == "old\n"
    outcome = {"outcome": "selected", "optionId": "portico:apply"}
    editor.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})
    assert editor.answer_to(prompt)["result"]["stopReason"] == "end_turn"
    assert path.read_text() == "changed ✓\n"
    assert editor.hang_up().code == 0


def test_the_output_of_a_command_is_shown_to_an_editor_that_shows_no_terminals(
    portico: Portico, drive: Drive
) -> None:
    notes(portico)
    told = drive("everything", python_agent(portico))
    assert told["error"] is None
    calls = [one.get("content") or [] for one in told["updates"] if one.get("toolCallId") == "run-1"]
    parts = [part for content in calls for part in content]
    assert {part["type"] for part in parts} == {"content"}
    assert parts[-1]["content"]["text"] == "one\ntwo héllo\n"


def test_inside_another_conductor_the_same_rules_hold(portico: Portico) -> None:
    """`portico acp` is told by hand that it is a proxy, of an editor that has nothing."""
    path = notes(portico)
    conductor = Editor(portico)

    def answer(message: Json, result: Json) -> None:
        conductor.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    hello = conductor.request("proxy/initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    greeted = conductor.receive()
    assert (greeted["method"], greeted["params"]["method"]) == ("proxy/successor", "initialize")
    told = greeted["params"]["params"]["clientCapabilities"]
    assert (told["fs"], told["terminal"]) == ({"readTextFile": True, "writeTextFile": True}, True)
    answer(greeted, {"protocolVersion": 1, "agentCapabilities": {}})
    answered = conductor.answer_to(hello)["result"]["agentCapabilities"]
    assert answered["mcpCapabilities"] == {"acp": True}
    opening = conductor.request("session/new", {"cwd": str(portico.workspace), "mcpServers": []})
    answer(conductor.receive(), {"sessionId": "s"})
    conductor.answer_to(opening)
    write = {"sessionId": "s", "path": str(path), "content": "new\n"}
    wrapped = {"method": "fs/write_text_file", "params": write}
    assert conductor.call("proxy/successor", wrapped)["result"] == {}
    assert path.read_text() == "new\n"
    assert conductor.hang_up().code == 0
