"""Failures during review: files stay as they were or become as asked, and the result is reported."""

import json
import os
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Portico, Ran
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, links and modes are POSIX")


def shell(command: str) -> list[Any]:
    """A turn in which the agent runs a command where it works."""
    return [{"run": {"command": "sh", "args": ["-c", command]}}]


def propose(portico: Portico, command: str) -> Ran:
    ran = portico.exec(shell(command), "--mode", "proposal", "--allow", "execute")
    assert ran.code == 0, ran.err
    return ran


def files(portico: Portico) -> dict[str, str]:
    (proposal,) = portico.run("review", "show", "--api").api["proposals"]
    return {one["path"]: one["operation"] for one in proposal["files"]}


def seen(folder: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def refused(portico: Portico, words: str) -> Ran:
    """An apply that says these words, and leaves everything as it was."""
    before = seen(portico.workspace)
    ran = portico.run("review", "apply")
    assert ran.code != 0
    assert words in ran.err, ran.err
    assert seen(portico.workspace) == before
    return ran


def test_what_no_proposal_can_hold_is_named_and_the_rest_is_applied(portico: Portico, tmp_path: Path) -> None:
    secret = tmp_path / "outside.txt"
    secret.write_text("outside\n")
    ran = propose(
        portico,
        f"mkfifo pipe; ln -s {secret} leak; head -c 100000000 /dev/zero > large; echo fine > fine.txt",
    )
    assert files(portico) == {"fine.txt": "create", "leak": "create"}
    shown = portico.run("review", "show").text
    assert f"It leads out of the workspace and cannot be applied. It is a symbolic link to {secret}." in (
        " ".join(shown.split())
    )
    (notice,) = [one for one in ran.stream.all("notice") if "cannot be proposed" in one["text"]]
    told = notice["details"].splitlines()
    assert "large is larger than 50 MB" in told
    assert portico.run("review", "apply").code == 0
    assert seen(portico.workspace) == {"fine.txt": b"fine\n"}
    assert secret.read_text() == "outside\n"


def test_what_an_agent_writes_through_a_link_that_leads_out_is_not_proposed(
    portico: Portico, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (portico.workspace / "out").symlink_to(outside)
    ran = portico.exec([{"write": {"path": "out/new.txt", "content": "bad"}}], "--mode", "proposal")
    assert list(outside.iterdir()) == []
    assert not ran.stream.all("proposal_updated")


def test_a_folder_that_the_person_makes_where_a_file_is_proposed_is_left_alone(portico: Portico) -> None:
    propose(portico, "echo 1 > thing; echo 2 > other")
    (portico.workspace / "thing").mkdir()
    (portico.workspace / "thing" / "mine").write_text("mine\n")
    refused(portico, "thing is a folder, not a file")
    assert portico.run("review", "apply", "other").code == 0
    assert (portico.workspace / "thing" / "mine").read_text() == "mine\n"


def test_a_pipe_that_the_person_makes_where_a_file_is_proposed_holds_nobody_up(portico: Portico) -> None:
    propose(portico, "echo 1 > thing")
    os.mkfifo(portico.workspace / "thing")
    ran = portico.run("review", "apply")
    assert (ran.code, "thing is a device, pipe" in ran.err) == (5, True)
    assert (portico.workspace / "thing").is_fifo()


def test_a_file_becomes_a_folder_and_a_folder_a_file_and_back(portico: Portico) -> None:
    (portico.workspace / "file").write_text("file\n")
    (portico.workspace / "folder").mkdir()
    (portico.workspace / "folder" / "inner").write_text("inner\n")
    before = seen(portico.workspace)
    propose(portico, "rm file; mkdir file; echo 1 > file/inner; rm -r folder; echo 2 > folder")
    assert portico.run("review", "apply").code == 0
    assert seen(portico.workspace) == {"file": None, "file/inner": b"1\n", "folder": b"2\n"}
    assert portico.run("review", "undo").code == 0
    assert seen(portico.workspace) == before


def test_names_in_another_case_or_unicode_form_are_files_of_their_own_where_the_system_says_so(
    portico: Portico,
) -> None:
    composed, apart = (unicodedata.normalize(form, "süß.txt") for form in ("NFC", "NFD"))
    (portico.workspace / "a.txt").write_text("a\n")
    (portico.workspace / composed).write_text("composed\n")
    (portico.workspace / "probe").write_text("")
    if (portico.workspace / "PROBE").exists():
        pytest.skip("this file system takes names in two cases for one")
    propose(portico, f"echo A > A.txt; echo apart > '{apart}'")
    assert files(portico) == {"A.txt": "create", apart: "create"}
    assert portico.run("review", "apply").code == 0
    assert (portico.workspace / "a.txt").read_text() == "a\n"
    assert (portico.workspace / composed).read_text() == "composed\n"
    assert (portico.workspace / apart).read_text() == "apart\n"


def test_bytes_ends_of_lines_modes_and_deletions_arrive_exactly(portico: Portico) -> None:
    work = portico.workspace
    (work / "windows.txt").write_bytes(b"one\r\ntwo\r\n")
    (work / "latin.txt").write_bytes("süß\n".encode("latin-1"))
    (work / "no-end.txt").write_bytes(b"one\ntwo")
    (work / "gone.txt").write_bytes(b"gone\n")
    (work / "moved.txt").write_bytes(b"moves\n" * 5)
    propose(
        portico,
        r"printf 'one\r\nTWO\r\n' > windows.txt; printf 's\374\337er\n' > latin.txt; printf 'one\n2' > no-end.txt;"
        r"printf '\000\377' > binary; printf '#!/bin/sh\n' > run; chmod 755 run; rm gone.txt; mv moved.txt there.txt",
    )
    assert files(portico)["there.txt"] == "rename"
    assert portico.run("review", "apply").code == 0
    assert seen(work) == {
        "binary": b"\0\xff",
        "latin.txt": "süßer\n".encode("latin-1"),
        "no-end.txt": b"one\n2",
        "run": b"#!/bin/sh\n",
        "there.txt": b"moves\n" * 5,
        "windows.txt": b"one\r\nTWO\r\n",
    }
    assert (work / "run").stat().st_mode & 0o777 == 0o755


def test_a_kill_of_the_command_that_applies_leaves_all_or_nothing(portico: Portico) -> None:
    """One kill of the real command; the moments are gone through one by one beside the parts."""
    work = portico.workspace
    for number in range(200):
        (work / f"f{number}").write_text("old\n")
    propose(portico, "for each in f*; do echo new > $each; done")
    session = portico.run("review", "show", "--api").api["sessionId"]
    applying = portico.start("review", "apply", "--session", session)
    # Contents wait beside their places: the apply is under way.
    wait_until(lambda: any(work.glob(".portico-*")) or applying.process.poll() is not None, "an apply")
    applying.process.kill()
    applying.end()
    shown = portico.run("review", "show", session, "--api")
    assert shown.code == 0, shown.err
    status = {one["status"] for one in shown.api["proposals"]}
    found = {(work / f"f{number}").read_text() for number in range(200)}
    assert (found, bool(status & {"open"})) in (({"old\n"}, True), ({"new\n"}, False))
    assert not list(work.glob(".portico-*"))
    if found == {"old\n"}:
        assert portico.run("review", "apply", "--session", session).code == 0
        assert {(work / f"f{number}").read_text() for number in range(200)} == {"new\n"}


def test_a_repository_is_made_on_the_offer_and_the_branch_mode_works(portico: Portico) -> None:
    words = ("exec", "--agent-command", portico.agent, "--mode", "branch", json.dumps(shell("echo 1 > new")))
    ran = portico.run(*words, "--allow", "execute")
    assert "Run git init there" in ran.complaint[1]
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", "init", "-q"), cwd=portico.workspace, check=True)
    ran = portico.run(*words, "--allow", "execute")
    assert "Make a first commit" in ran.complaint[1]
    subprocess.run(
        ("git", *identity, "commit", "-q", "--allow-empty", "-m", "first"), cwd=portico.workspace, check=True
    )
    assert portico.run(*words, "--allow", "execute").code == 0
    assert (portico.workspace / "new").exists()
