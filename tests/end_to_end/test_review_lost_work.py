"""Changes of an agent are never lost: not when its host is killed, not when its session is deleted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.waiting import wait_for_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")

WRITE = [{"save": {"path": "half.txt", "content": "half\n"}}]


def proposed(portico: Portico) -> list[str]:
    shown = portico.run("review", "show", "--api").api
    return [file["path"] for proposal in shown["proposals"] for file in proposal["files"]]


def test_what_a_killed_turn_had_changed_is_shown_and_can_be_applied(portico: Portico) -> None:
    mark = portico.home / "written"
    steps = [*WRITE, {"touch": str(mark)}, {"wait_file": str(portico.home / "never")}]
    running = portico.start_exec(steps, "--mode", "proposal", "--sandbox", "none")
    wait_for_file(mark)
    running.signal(signal.SIGKILL)
    running.end()
    assert proposed(portico) == ["half.txt"]
    assert portico.run("review", "apply").code == 0
    assert (portico.workspace / "half.txt").read_text() == "half\n"


def test_a_session_that_proposes_is_deleted_only_when_that_is_meant(portico: Portico) -> None:
    session_id = portico.exec(WRITE, "--mode", "proposal").stream.session_id
    ran = portico.run("sessions", "delete", session_id)
    assert (ran.code, ran.complaint[0]) == (
        5,
        f"portico: Session {session_id} proposes changes to 1 file (+1 -0) that you have not decided on; they would be lost with it.",
    )
    assert "--yes" in ran.err
    assert proposed(portico) == ["half.txt"]
    assert portico.run("sessions", "delete", session_id, "--yes").code == 0
    assert list((portico.state / "review" / "workplaces").glob("*/*/tree")) == []


def test_a_session_on_an_unfinished_branch_is_deleted_only_when_that_is_meant(portico: Portico) -> None:
    _commit(portico.workspace)
    session_id = portico.exec(WRITE, "--mode", "branch").stream.session_id
    ran = portico.run("sessions", "delete", session_id)
    assert ran.code == 5
    assert "which is not finished" in ran.complaint[0]
    assert portico.run("review", "finish", "discard", "--session", session_id).code == 0
    assert portico.run("sessions", "delete", session_id).code == 0


def _commit(folder: Path) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    (folder / "a.txt").write_text("one\n")
    identity = ("-c", "user.name=Mia", "-c", "user.email=mia@example.org")
    for words in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message=begin")):
        subprocess.run(["git", *words], cwd=folder, check=True, env=environ)
