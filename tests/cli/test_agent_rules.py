"""`portico agents check --rules`: mandatory rules of ACP, and the result beside the agent."""

import json
import os
from pathlib import Path

from portico.testing import scripted_agent_command
from tests.support.program import Portico


def hire(portico: Portico, folder: Path, script: dict[str, object] | None = None) -> Path:
    """An agent whose program is a file of its own."""
    program = folder / "agent"
    words = " ".join(f"'{word}'" for word in scripted_agent_command(script))
    program.write_text(f"#!/bin/sh\nexec {words}\n")
    program.chmod(0o755)
    portico.settings({"agents": {"mine": {"command": str(program)}}})
    return program


def line_of(portico: Portico) -> str:
    return next(line for line in portico.run("agents", "list").text.splitlines() if " mine " in line)


def test_a_check_is_shown_in_the_list_until_the_program_changes(portico: Portico, tmp_path: Path) -> None:
    program = hire(portico, tmp_path)
    assert "[" not in line_of(portico)
    assert portico.run("agents", "check", "mine").code == 0
    assert line_of(portico).endswith("[checked]")
    stamp = program.stat().st_mtime + 100
    os.utime(program, (stamp, stamp))
    assert line_of(portico).endswith("[changed since it was checked]")


def test_broken_rules_are_named_and_kept(portico: Portico, tmp_path: Path) -> None:
    hire(portico, tmp_path, {"on_prompt": [[{"stop_reason": "made_up"}]]})
    checked = portico.run("agents", "check", "mine", "--rules", "--api")
    assert checked.code == 4
    found = json.loads(checked.text)["agent"]
    assert "ACP-PROMPT-001" in found["rulesBroken"]
    assert found["rulesKept"] > 10
    assert "breaks" in line_of(portico)
    assert "ACP-PROMPT-001" in line_of(portico)
