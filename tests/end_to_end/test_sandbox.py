"""Agents that write by themselves, in sessions that must not let them: seen from the command line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Portico
from tests.support.reviewing_editor import KEEP, ReviewingEditor
from tests.support.stream import Json

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes that can be tried are Linux's")

OLD, NEW = "old words\n", "new words\n"


@pytest.fixture(autouse=True)
def file(portico: Portico) -> Path:
    path = portico.workspace / "a.txt"
    path.write_text(OLD)
    return path


def in_shell(text: str) -> list[dict[str, Any]]:
    """A command that the agent has its client run."""
    return [{"run": {"command": "/bin/sh", "args": ["-c", text]}}]


def sandbox_in(stream: Any) -> list[Any]:
    return [
        one["agentSession"].get("sandbox") for one in stream.all("state_changed") if "agentSession" in one
    ]


def test_a_command_that_makes_up_the_real_path_changes_nothing_there(portico: Portico, file: Path) -> None:
    # Portico translates paths that it sees in a command; this one it cannot see.
    hidden = "".join(f"\\{byte:03o}" for byte in str(file).encode())
    ran = portico.exec(
        in_shell(f"echo attacked >\"$(printf '{hidden}')\"; echo own >own.txt"),
        *("--allow", "all", "--mode", "proposal"),
    )
    assert ran.code == 0
    assert file.read_text() == OLD
    assert [one["path"] for one in ran.stream.all("proposal_updated")[-1]["files"]] == ["own.txt"]
    assert sandbox_in(ran.stream) == [{"level": "workspace", "backend": "bubblewrap"}]


@pytest.mark.parametrize("flags", [("--mode", "proposal"), ("--read-only",)])
def test_an_agent_that_writes_the_real_path_by_itself_is_refused_by_the_kernel(
    portico: Portico, file: Path, flags: tuple[str, ...]
) -> None:
    ran = portico.exec([{"save": {"path": str(file), "content": NEW}}], *flags)
    assert (ran.code, file.read_text()) == (0, OLD)


def test_the_same_agent_writes_it_without_a_sandbox(portico: Portico, file: Path) -> None:
    ran = portico.exec([{"save": {"path": str(file), "content": NEW}}], "--read-only", "--sandbox", "none")
    assert (file.read_text(), sandbox_in(ran.stream)) == (NEW, [None])


def test_the_level_of_the_settings_holds_in_sessions_that_write(
    portico: Portico, file: Path, tmp_path: Path
) -> None:
    portico.settings({"sandbox": {"level": "workspace"}})
    outside = tmp_path / "outside.txt"
    ran = portico.exec(in_shell(f"echo x >{outside}; echo new words >a.txt"), "--allow", "all")
    assert (file.read_text(), outside.exists()) == (NEW, False)
    assert sandbox_in(ran.stream)[0]["level"] == "workspace"


def test_a_host_without_a_port_is_an_input_error_and_no_agent_starts(portico: Portico) -> None:
    portico.settings({"sandbox": {"level": "strict", "network": ["example.org"]}})
    ran = portico.run("exec", "--api", "--agent-command", portico.agent, "say hello")
    failed = json.loads(ran.out)
    assert (ran.code, failed["diagnostics"]["error_code"]) == (5, "INVALID_INPUT")
    assert "host:port" in failed["diagnostics"]["suggestion"]


def test_the_doctor_says_what_confines_agents_here(portico: Portico) -> None:
    findings = {one["subject"]: one for one in json.loads(portico.run("doctor", "--api").out)["findings"]}
    assert findings["sandbox"] == {
        "subject": "sandbox",
        "verdict": "ok",
        "detail": "bubblewrap and sandlock confine agents",
    }


def test_a_command_that_the_adapter_runs_is_confined_like_the_agent(portico: Portico, file: Path) -> None:
    hidden = "".join(f"\\{byte:03o}" for byte in str(file).encode())
    steps = in_shell(f"echo attacked >\"$(printf '{hidden}')\"; echo own >own.txt")
    editor = ReviewingEditor(portico, "--agent-command", portico.agent, "--mode", "proposal")
    editor.capabilities = {}
    turn = editor.turn(
        editor.open_session(),
        steps,
        lambda asked: KEEP if _is_proposal(asked) else _first(asked, "allow_once"),
    )
    assert [Path(path).name for path in turn.diffs] == ["own.txt"]
    assert file.read_text() == OLD
    assert editor.hang_up().code == 0


def _is_proposal(asked: Json) -> bool:
    return any(one["optionId"] == KEEP for one in asked["options"])


def _first(asked: Json, kind: str) -> str:
    return next(str(one["optionId"]) for one in asked["options"] if one["kind"] == kind)
