"""Working directory of an agent in a working copy: its process, commands, git and variables."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.reviewing_editor import KEEP, ReviewingEditor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the agents are shell scripts")

NOTHING = [{"say": "done"}]
COMMIT = "git add -A && git commit --quiet --allow-empty --message=stray"
WHO = {
    f"GIT_{role}_{what}": "mia@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, env=WHO)
    return done.stdout.strip()


@pytest.fixture
def repository(portico: Portico) -> Path:
    (portico.workspace / "a.txt").write_text("one\n")
    git(portico.workspace, "init", "--quiet", "--initial-branch=main")
    git(portico.workspace, "add", ".")
    git(portico.workspace, "commit", "--quiet", "--message=begin")
    return portico.workspace


def agent_that_first(portico: Portico, command: str) -> str:
    return shlex.join(["sh", "-c", f"{command}; exec {portico.agent}"])


@pytest.mark.parametrize("mode", ["proposal", "worktree"])
def test_an_agent_that_takes_its_process_folder_for_the_sessions_proposes_what_it_writes(
    portico: Portico, repository: Path, mode: str
) -> None:
    agent = agent_that_first(portico, "echo stray > stray.txt")
    ran = portico.exec(NOTHING, "--mode", mode, "--agent-command", agent)
    assert ran.code == 0, ran.err
    assert not (repository / "stray.txt").exists()
    shown = portico.run("review", "show", "--api").api
    assert [file["path"] for file in shown["proposals"][0]["files"]] == ["stray.txt"]


def test_in_an_acp_editor_such_an_agent_finds_none_of_the_persons_files(
    portico: Portico, repository: Path
) -> None:
    agent = agent_that_first(portico, "echo stray > stray.txt; rm -f a.txt")
    editor = ReviewingEditor(portico, "--agent-command", agent, "--mode", "proposal")
    session = editor.open_session()
    editor.turn(session, NOTHING, KEEP)
    assert editor.hang_up().code == 0
    assert sorted(one.name for one in repository.iterdir()) == [".git", "a.txt"]


def test_variables_that_bind_git_to_the_persons_repository_reach_neither_the_agent_nor_its_commands(
    portico: Portico, repository: Path
) -> None:
    bound = {**WHO, "GIT_DIR": str(repository / ".git"), "GIT_WORK_TREE": str(repository)}
    steps = [
        {"save": {"path": "b.txt", "content": "two\n"}},
        {"run": {"command": "sh", "args": ["-c", COMMIT]}},
    ]
    ran = portico.exec(
        steps, "--mode", "proposal", "--agent-command", agent_that_first(portico, COMMIT), environ=bound
    )
    assert ran.code == 0, ran.err
    assert git(repository, "log", "--format=%s") == "begin"
    assert git(repository, "status", "--porcelain") == ""
    assert "b.txt" in portico.run("review", "show").text


def test_sources_and_programs_that_variables_name_are_those_of_the_agents_own_tree(
    portico: Portico, repository: Path
) -> None:
    (repository / "src").mkdir()
    (repository / "src" / "here.py").write_text("")
    named = {"PYTHONPATH": f"{repository / 'src'}:{repository / 'gone'}:/elsewhere", "PWD": str(repository)}
    told = portico.home / "told"
    agent = agent_that_first(portico, f'pwd > {told}; echo "$PYTHONPATH" >> {told}')
    flags = ("--mode", "proposal", "--sandbox", "none", "--agent-command", agent)
    assert portico.exec(NOTHING, *flags, environ=named).code == 0
    folder, path = told.read_text().splitlines()
    assert Path(folder).is_relative_to(portico.state)
    assert path == f"{folder}/src:{repository}/gone:/elsewhere"


def test_a_command_that_names_files_of_the_workspace_starts_the_same_agent_in_every_mode(
    portico: Portico, repository: Path
) -> None:
    (repository / ".gitignore").write_text("*.sh\n")
    script = repository / "agent.sh"
    script.write_text(f"#!/bin/sh\nexec {portico.agent}\n")
    script.chmod(0o755)
    for command in ("./agent.sh", "sh agent.sh"):
        ran = portico.exec(NOTHING, "--mode", "proposal", "--agent-command", command)
        assert ran.code == 0, ran.err
