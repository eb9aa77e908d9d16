"""A broken installation is known by its files, and what is wrong with it is said."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.agents.program_check import check_installation
from portico.agents.registry import AgentRegistry
from portico.config.settings import AgentSetting
from portico.processes.executables import CannotRun
from tests.rpc.process_tree import script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and interpreter lines")


def package(folder: Path, name: str, **manifest: object) -> Path:
    """A Node package, installed where `npm install --global` would put it."""
    place = folder / "lib" / "node_modules" / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"name": name, **manifest}))
    return place


def node_program(folder: Path, name: str, **manifest: object) -> Path:
    """The same with a program that is linked into a folder of PATH, and a Node to run it."""
    place = package(folder, name, **manifest)
    main = script(place, "main.js", "#!/usr/bin/env node\n")
    (folder / "bin").mkdir(exist_ok=True)
    script(folder / "bin", "node", "#!/bin/sh\n")
    (folder / "bin" / name).symlink_to(main)
    return place


def problem(folder: Path, *command: str) -> str:
    with pytest.raises(CannotRun) as found:
        check_installation(command, cwd=folder, environ=path(folder))
    return found.value.reason


def path(folder: Path) -> Mapping[str, str]:
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}


def test_a_whole_package_is_fine(tmp_path: Path) -> None:
    place = node_program(tmp_path, "agent", dependencies={"near": "1", "@far/away": "1"})
    (place / "node_modules" / "near").mkdir(parents=True)
    (place / "node_modules" / "near" / "package.json").write_text("{}")
    package(tmp_path, "@far/away")
    check_installation(("agent", "--acp"), cwd=tmp_path, environ=path(tmp_path))


def test_a_package_that_it_needs_is_missed(tmp_path: Path) -> None:
    node_program(tmp_path, "agent", dependencies={"near": "1", "far": "1"})
    assert problem(tmp_path, "agent") == "agent needs the package near and 1 more, not installed"


def test_one_of_its_builds_has_to_be_there(tmp_path: Path) -> None:
    node_program(
        tmp_path, "agent", optionalDependencies={"agent-linux": "1", "agent-darwin": "1", "other": "1"}
    )
    assert problem(tmp_path, "agent") == "none of the programs of agent is installed"
    package(tmp_path, "agent-linux")
    check_installation(("agent",), cwd=tmp_path, environ=path(tmp_path))


def test_a_script_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin", "node", "#!/bin/sh\n")
    assert (
        problem(tmp_path, "node", "--quiet", "gone.js", "--acp") == f"{tmp_path / 'gone.js'} does not exist"
    )


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    node_program(tmp_path, "agent")
    (tmp_path / "lib" / "node_modules" / "agent" / "main.js").unlink()
    assert "is a link to" in problem(tmp_path, "agent")


def test_an_empty_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin", "agent", "")
    assert problem(tmp_path, "agent") == f"{tmp_path / 'bin' / 'agent'} is empty"


def test_what_cannot_be_known_is_not_called_broken(tmp_path: Path) -> None:
    place = node_program(tmp_path, "agent")
    (place / "package.json").write_text("no JSON")
    check_installation(("agent",), cwd=tmp_path, environ=path(tmp_path))
    check_installation(("sh", "-c", "true"), cwd=tmp_path, environ=path(tmp_path))
    check_installation((sys.executable, "-P", "-m", "portico", "agent"), cwd=tmp_path, environ=path(tmp_path))


def test_the_list_ticks_no_broken_agent_and_says_what_to_do(tmp_path: Path) -> None:
    node_program(tmp_path, "gemini", dependencies={"near": "1"})
    own = {"mine": AgentSetting(command="no-such-agent")}
    registry = AgentRegistry(python=sys.executable, environ=path(tmp_path), custom=own)
    broken, absent, mine = (registry.describe(name, "porter") for name in ("gemini", "goose", "mine"))
    assert not broken.installed
    assert broken.problem == "Gemini needs the package near, not installed."
    assert broken.hint == "Install it again: npm install --global gemini"
    assert absent.problem is None
    assert mine.problem == "“no-such-agent” was not found on PATH."
