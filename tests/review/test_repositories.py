"""Facts about a repository, and runs of git: quiet, clean, with errors that say what to do."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PermissionDenied, SessionBusy, StoreFailed
from portico.git.program import Git, translated
from portico.git.repository import GitOperation, find_repository, need_repository
from tests.review.trees import git, repository, write
from tests.support.waiting import wait_for_file


async def test_a_folder_knows_whether_it_is_in_a_repository(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    (workspace / "inner").mkdir()
    (tmp_path / "plain").mkdir()
    found = await find_repository(workspace / "inner", os.environ)
    assert found is not None
    assert (found.root, found.operation()) == (workspace, None)
    assert await find_repository(tmp_path / "plain", os.environ) is None
    assert await find_repository(workspace / ".git", os.environ) is None


async def test_head_is_a_branch_detached_or_unborn(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    found = await need_repository(workspace, os.environ)
    commit = git(workspace, "rev-parse", "HEAD")
    head = await found.head()
    assert (head.branch, head.commit, head.detached) == ("main", commit, False)
    git(workspace, "checkout", "--quiet", "--detach")
    head = await found.head()
    assert (head.branch, head.commit, head.detached) == (None, commit, True)
    git(workspace, "switch", "--quiet", "--orphan", "fresh")
    head = await found.head()
    assert (head.branch, head.commit) == ("fresh", None)


async def test_what_is_ignored_is_told_apart(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a="1\n", b="1\n", __gitignore="*.log\n")
    found = await need_repository(workspace, os.environ)
    write(workspace, {"new name": "n\n", "x.log": "l\n"})
    assert await found.ignored(("x.log", "a", "new name")) == {"x.log"}


async def test_an_unresolved_conflict_is_named(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "switch", "--quiet", "--create", "other")
    write(workspace, {"a.txt": "other\n"})
    git(workspace, "commit", "--quiet", "--all", "--message=other")
    git(workspace, "switch", "--quiet", "main")
    write(workspace, {"a.txt": "main\n"})
    git(workspace, "commit", "--quiet", "--all", "--message=main")
    with pytest.raises(subprocess.CalledProcessError):
        git(workspace, "merge", "other")
    found = await need_repository(workspace, os.environ)
    assert found.operation() is GitOperation.MERGE
    (workspace / ".git" / "MERGE_HEAD").unlink()
    with pytest.raises(SessionBusy, match=r"a\.txt has an unresolved conflict"):
        await found.settled_head()


async def test_a_bisect_is_noticed(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    git(workspace, "bisect", "start")
    found = await need_repository(workspace, os.environ)
    assert found.operation() is GitOperation.BISECT


async def test_variables_of_git_in_the_environment_lead_nobody_astray(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    other = repository(tmp_path / "other")
    environ = {**os.environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_TRACE": "2"}
    found = await need_repository(workspace, environ)
    assert found.root == workspace
    assert found.git_folder == workspace / ".git"


async def test_without_git_the_person_hears_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Git cannot be run") as caught:
        await Git(tmp_path, {"PATH": str(tmp_path)}).run("status")
    assert "Install git" in (caught.value.suggestion or "")


async def test_a_run_that_is_given_up_ends_the_program(tmp_path: Path) -> None:
    program = tmp_path / "git"
    program.write_text(
        f"#!/bin/sh\ntrap 'touch {tmp_path}/ended; exit 1' TERM\nmkfifo {tmp_path}/pipe\n"
        f"touch {tmp_path}/begun\nread -r _ <>{tmp_path}/pipe\n"
    )
    program.chmod(0o755)
    running = asyncio.create_task(Git(tmp_path, {"PATH": f"{tmp_path}:/usr/bin:/bin"}).run("status"))
    async with asyncio.timeout(20):
        await asyncio.to_thread(wait_for_file, tmp_path / "begun")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("complaint", "error", "words"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", PermissionDenied, "does not trust"),
        (
            "fatal: Unable to create '/x/.git/index.lock': File exists.",
            SessionBusy,
            "Another git process is using",
        ),
        ("error: file write error: No space left on device", StoreFailed, "disk is full"),
        ('error: open("x"): Permission denied', PermissionDenied, "not allowed to read or write"),
        ("fatal: not a git repository (or any parent)", InvalidInput, "not a git repository"),
        ("fatal: x.bin: clean filter 'lfs' failed", InvalidInput, "filter configured in the repository"),
        ("fatal: bad object HEAD", StoreFailed, "bad object HEAD"),
    ],
)
def test_each_complaint_of_git_says_who_acts(complaint: str, error: type[Exception], words: str) -> None:
    told = translated("status", complaint)
    assert type(told) is error
    assert words in told.message
    assert told.suggestion
