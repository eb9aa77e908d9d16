"""A worktree that comes home and is killed on its way: the next finish carries it to its end, or says what is open."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, SessionBusy
from portico.review.branches.session_branches import FinishMethod
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.trees import git, repository, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")

HOME = [FinishMethod.MERGE, FinishMethod.SQUASH]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work", a__txt="a\n", b__txt="b\n")


async def works(reviews: ReviewService, work: Path, files: dict[str, str]) -> None:
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Work")
    write(review.folder, files)
    await review.end_turn()


async def killed(home: Path, work: Path, ending: FinishMethod, moment: str) -> ReviewService:
    """The session has worked, and its end was cut short: what the next process has."""
    write(work, {"b.txt": "uncommitted\n", "staged.txt": "staged\n"})
    git(work, "add", "staged.txt")
    await works(as_another(home), work, {"a.txt": "agent\n", "d/new.txt": "new\n"})
    kill(home, ending, moment)
    return as_another(home)


def kill(home: Path, ending: FinishMethod, moment: str) -> None:
    program = [sys.executable, "-m", "tests.review.killed_finishes", str(home), ending, moment]
    done = subprocess.run(program, capture_output=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def as_another(home: Path) -> ReviewService:
    return ReviewService.at(home / "state", os.environ, ManualClock())


def assert_home(work: Path, ending: FinishMethod, commit: str) -> None:
    assert git(work, "rev-parse", "HEAD") == commit
    assert git(work, "show", "HEAD:a.txt", "HEAD:d/new.txt") == "agent\nnew"
    assert git(work, "show", "HEAD:b.txt") == "b"
    assert git(work, "status", "--porcelain").split("\n") == [" M b.txt", "A  staged.txt"]
    assert git(work, "log", "-1", "--format=%P").count(" ") == (1 if ending is FinishMethod.MERGE else 0)
    assert git(work, "log", "-1", "--format=%s") == "Work"
    assert "finishing" not in git(work, "for-each-ref", "--format=%(refname)")


@pytest.mark.parametrize("ending", HOME)
@pytest.mark.parametrize("moment", ["apply", "commit", "close"])
async def test_the_next_finish_carries_it_to_its_end(
    tmp_path: Path, work: Path, ending: FinishMethod, moment: str
) -> None:
    reviews = await killed(tmp_path, work, ending, moment)
    assert (await reviews.status("s1")).unfinished
    outcome = await reviews.finish("s1", ending, "Work")
    assert_home(work, ending, outcome.ended.commit)
    assert not (await reviews.status("s1")).unfinished


@pytest.mark.parametrize("ending", HOME)
@pytest.mark.parametrize("moment", ["branch", "index"])
async def test_who_removes_the_lock_that_is_left_gets_both_the_commit_and_the_index(
    tmp_path: Path, work: Path, ending: FinishMethod, moment: str
) -> None:
    reviews = await killed(tmp_path, work, ending, moment)
    with pytest.raises(SessionBusy, match="Another git"):
        await reviews.finish("s1", ending, "Work")
    (work / ".git" / "index.lock").unlink()
    outcome = await reviews.finish("s1", ending, "Work")
    assert_home(work, ending, outcome.ended.commit)


@pytest.mark.parametrize("ending", HOME)
async def test_what_was_committed_meanwhile_is_neither_lost_nor_committed_again(
    tmp_path: Path, work: Path, ending: FinishMethod
) -> None:
    reviews = await killed(tmp_path, work, ending, "commit")
    git(work, "commit", "--quiet", "--all", "--message=by hand")
    by_hand = git(work, "rev-parse", "HEAD")
    outcome = await reviews.finish("s1", ending, "Work")
    log = git(work, "log", "--first-parent", "--format=%H").split("\n")
    assert outcome.ended.commit == log[0]
    assert by_hand in log
    assert git(work, "show", "HEAD:a.txt", "HEAD:b.txt", "HEAD:d/new.txt") == "agent\nuncommitted\nnew"
    assert git(work, "status", "--porcelain") == ""


async def test_what_the_agent_did_after_the_kill_comes_home_too(tmp_path: Path, work: Path) -> None:
    reviews = await killed(tmp_path, work, FinishMethod.SQUASH, "commit")
    await works(reviews, work, {"a.txt": "agent\nmore\n"})
    await as_another(tmp_path).finish("s1", FinishMethod.SQUASH, "Work")
    assert git(work, "show", "HEAD:a.txt", "HEAD:d/new.txt") == "agent\nmore\nnew"
    assert git(work, "status", "--porcelain").split("\n") == [" M b.txt", "A  staged.txt"]


@pytest.mark.parametrize("ending", [FinishMethod.KEEP, FinishMethod.DISCARD])
async def test_another_ending_says_what_is_open_and_how_to_go_on(
    tmp_path: Path, work: Path, ending: FinishMethod
) -> None:
    reviews = await killed(tmp_path, work, FinishMethod.MERGE, "commit")
    with pytest.raises(InvalidInput, match="in your files, uncommitted") as caught:
        await reviews.finish("s1", ending)
    assert "undo" in (caught.value.suggestion or "")
    (proposal,) = await reviews.proposals("s1")
    await reviews.undo("s1", proposal.id)
    outcome = await reviews.finish("s1", ending)
    assert (work / "a.txt").read_text() == "a\n"
    assert git(work, "show", f"{outcome.ended.reference}:a.txt") == "agent"


async def test_who_goes_back_before_they_finish_again_gets_no_commit_of_it(
    tmp_path: Path, work: Path
) -> None:
    reviews = await killed(tmp_path, work, FinishMethod.MERGE, "commit")
    before = git(work, "rev-parse", "HEAD")
    checkpoint = (await reviews.checkpoints("s1"))[-1]
    await reviews.restore("s1", checkpoint.id)
    assert (work / "a.txt").read_text() == "a\n"
    await reviews.finish("s1", FinishMethod.MERGE)
    assert git(work, "rev-parse", "HEAD") == before
