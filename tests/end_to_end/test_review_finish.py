"""Finishing a branch or worktree: merged, kept or discarded, with the person's own work untouched."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Portico, Ran

ENDINGS = ("merge", "squash", "keep", "discard")
BY_ITSELF = [{"save": {"path": "b.txt", "content": "b\n"}}]


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *identity, *words), cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


@pytest.fixture
def repository(portico: Portico) -> Path:
    folder = portico.workspace
    git(folder, "init", "-q", "-b", "main")
    for name in ("a.txt", "staged.txt", "both.txt"):
        (folder / name).write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def busy(repository: Path) -> Path:
    """A repository in which a person is in the middle of something: staged, changed and new files."""
    (repository / "a.txt").write_text("changed\n")
    (repository / "staged.txt").write_text("staged\n")
    (repository / "both.txt").write_text("staged\n")
    git(repository, "add", "staged.txt", "both.txt")
    (repository / "both.txt").write_text("changed after that\n")
    (repository / "new.txt").write_text("new\n")
    return repository


def persons_work(folder: Path) -> tuple[str, ...]:
    return (
        git(folder, "status", "--short"),
        git(folder, "diff", "--cached"),
        git(folder, "diff"),
        (folder / "new.txt").read_text(),
        git(folder, "stash", "list"),
    )


def finish(portico: Portico, ending: str, *words: str) -> dict[str, Any]:
    ran = portico.run("review", "finish", ending, *words, "--api")
    assert ran.code == 0, ran.err + ran.text
    return dict(ran.api)


@pytest.mark.parametrize("mode", ["branch", "worktree"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_the_end_the_persons_own_work_is_as_it_was(
    portico: Portico, busy: Path, mode: str, ending: str
) -> None:
    before, first = persons_work(busy), git(busy, "rev-parse", "main")
    assert portico.exec(BY_ITSELF, "--mode", mode).code == 0
    found = finish(portico, ending)
    assert persons_work(busy) == before
    assert git(busy, "branch", "--show-current") == "main\n"
    if ending in ("merge", "squash"):
        assert git(busy, "diff", "--name-only", "main^", "main").split() == ["b.txt"]
        assert git(busy, "rev-parse", "main^") == first
        assert (busy / "b.txt").read_text() == "b\n"
    else:
        assert git(busy, "rev-parse", "main") == first
        assert not (busy / "b.txt").exists()
    if ending == "keep":
        assert git(busy, "show", f"{found['reference']}:b.txt") == "b\n"
    left = git(busy, "for-each-ref", "--format=%(refname)", "refs/heads").split()
    assert len(left) == (2 if ending == "keep" else 1), left
    assert len(git(busy, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("mode", ["branch", "worktree"])
def test_a_detached_head_is_worked_from_and_come_back_to(portico: Portico, busy: Path, mode: str) -> None:
    git(busy, "checkout", "--quiet", "--detach")
    before, first = persons_work(busy), git(busy, "rev-parse", "HEAD")
    assert portico.exec(BY_ITSELF, "--mode", mode).code == 0
    finish(portico, "keep")
    assert (persons_work(busy), git(busy, "rev-parse", "HEAD")) == (before, first)
    assert git(busy, "branch", "--show-current") == ""


def test_the_same_words_twice_are_two_branches(portico: Portico, repository: Path) -> None:
    git(repository, "branch", "portico/say-make-it-better")
    taken = git(repository, "rev-parse", "portico/say-make-it-better")
    ran = portico.exec("say make it better", "--mode", "branch")
    assert ran.code == 0, ran.err
    git(repository, "switch", "-q", "main")
    assert portico.exec("say make it better", "--mode", "branch").code == 0
    assert git(repository, "rev-parse", "portico/say-make-it-better") == taken
    names = git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/portico").split()
    assert len(names) == 3, names


@pytest.mark.parametrize("mode", ["branch", "worktree"])
def test_a_repository_in_the_middle_of_a_rebase_is_left_alone_and_proposals_still_work(
    portico: Portico, repository: Path, mode: str
) -> None:
    git(repository, "switch", "-qc", "other")
    (repository / "a.txt").write_text("other\n")
    git(repository, "commit", "-qam", "other")
    git(repository, "switch", "-q", "main")
    (repository / "a.txt").write_text("main\n")
    git(repository, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "rebase", "other")
    before = git(repository, "status")
    ran = portico.run("exec", "--agent-command", portico.agent, "--mode", mode, json.dumps(BY_ITSELF))
    assert (ran.code, "in the middle of a rebase" in ran.err) == (1, True)
    assert "proposal mode" in ran.complaint[1]
    resolved = [{"save": {"path": "a.txt", "content": "resolved\n"}}]
    assert portico.exec(resolved, "--mode", "proposal").code == 0
    assert git(repository, "status") == before
    assert portico.run("review", "apply").code == 0
    assert (repository / "a.txt").read_text() == "resolved\n"
    assert "rebase in progress" in git(repository, "status")


def test_several_agents_work_side_by_side_in_worktrees_and_all_come_home(
    portico: Portico, busy: Path
) -> None:
    before = persons_work(busy)
    running = [
        portico.start_exec(
            [{"save": {"path": f"{name}.txt", "content": name}}, {"say": name}, {"hang": {}}],
            *("--mode", "worktree"),
        )
        for name in ("x", "y", "z")
    ]
    sessions = [one.until("session_started")["sessionId"] for one in running]
    for one in running:
        one.until("streaming")  # All of them are at work at the same time.
    for one in running:
        one.signal(signal.SIGINT)
    ended: list[Ran] = [one.end() for one in running]
    assert all('"proposal_updated"' in one.text for one in ended)
    assert persons_work(busy) == before
    for session in sessions:
        finish(portico, "squash", "--session", session)
    assert [(busy / f"{name}.txt").read_text() for name in ("x", "y", "z")] == ["x", "y", "z"]
    assert persons_work(busy) == before
    assert len(git(busy, "worktree", "list").splitlines()) == 1


def test_a_worktree_that_somebody_deleted_is_made_again_with_what_was_proposed(
    portico: Portico, repository: Path
) -> None:
    ran = portico.exec(BY_ITSELF, "--mode", "worktree")
    (tree,) = [Path(line.split()[0]) for line in git(repository, "worktree", "list").splitlines()[1:]]
    shutil.rmtree(tree)
    more = [{"save": {"path": "c.txt", "content": "c\n"}}]
    again = portico.exec(more, "--session", ran.stream.session_id)
    assert again.code == 0, again.err
    assert {"b.txt", "c.txt"} == {file["path"] for file in again.stream.all("proposal_updated")[-1]["files"]}
    assert portico.run("review", "apply").code == 0
    assert git(repository, "status", "--short") == "?? b.txt\n?? c.txt\n"


def test_a_worktree_with_submodules_comes_home(portico: Portico, repository: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "i.txt").write_text("i\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repository, "commit", "-qm", "with a submodule")
    assert portico.exec(BY_ITSELF, "--mode", "worktree").code == 0
    finish(portico, "squash")
    assert (repository / "b.txt").read_text() == "b\n"
    assert git(repository, "status", "--short") == ""
    assert (repository / "sub" / "i.txt").read_text() == "i\n"
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_session_without_a_branch_has_nothing_to_finish(portico: Portico, repository: Path) -> None:
    assert portico.exec(BY_ITSELF, "--mode", "proposal").code == 0
    ran = portico.run("review", "finish", "merge")
    assert (ran.code, "has no branch to finish" in ran.err) == (5, True)
    assert not (repository / "b.txt").exists()


def test_hooks_of_the_repository_are_not_run_by_an_end(portico: Portico, repository: Path) -> None:
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "post-checkout", "post-merge", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {repository.parent / 'ran'}\nexit 1\n")
        (hooks / name).chmod(0o755)
    assert portico.exec(BY_ITSELF, "--mode", "branch").code == 0
    finish(portico, "merge")
    assert (repository / "b.txt").exists()
    assert not (repository.parent / "ran").exists()
