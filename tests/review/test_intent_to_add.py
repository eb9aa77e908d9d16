"""Files added with `git add -N`, in every review mode."""

import os
import shutil
from pathlib import Path

import pytest

from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.trees import content, git, repository, write

SEVEN = "1\n2\n3\n4\n5\n6\n7\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "work", a__txt=SEVEN, __gitignore="ignored*\n")
    write(
        folder,
        {"plain.txt": "p\n", "in/[a] folder": "f\n", "empty": "", "ignored.txt": "i\n", "staged": "s\n"},
    )
    (folder / "link").symlink_to("plain.txt")
    git(folder, "add", "--intent-to-add", "--force", "plain.txt", "in", "empty", "ignored.txt", "link")
    git(folder, "add", "staged")
    return folder


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewService:
    return ReviewService.at(tmp_path / "state", os.environ, ManualClock())


def uncommitted(work: Path) -> tuple[str, str, str]:
    """The person's view of their own work: the status, staged and unstaged changes."""
    return git(work, "status", "--porcelain", "-uall"), git(work, "diff", "--cached"), git(work, "diff")


async def turn(reviews: ReviewService, work: Path, mode: ReviewMode, *, commits: bool = False) -> None:
    """The agent changes a file that is unchanged otherwise."""
    review = await reviews.open("s1", work, mode)
    await review.begin_turn("Do it")
    write(review.folder, {"a.txt": SEVEN.replace("7", "agent")})
    if commits:
        git(review.folder, "add", "--all")
        git(review.folder, "commit", "--quiet", "--message=agent")
    await review.end_turn()


@pytest.mark.parametrize("mode", ["branch", "worktree"])
@pytest.mark.parametrize("ending", list(FinishMethod))
@pytest.mark.parametrize("commits", [False, True])
async def test_what_was_meant_to_be_added_is_so_again_however_a_session_ends(
    work: Path, reviews: ReviewService, mode: ReviewMode, ending: FinishMethod, commits: bool
) -> None:
    before, (status, staged, unstaged) = content(work), uncommitted(work)
    assert " A in/[a] folder" in status.replace('"', "")
    await turn(reviews, work, mode, commits=commits)
    ended = (await reviews.finish("s1", ending)).ended
    assert uncommitted(work) == (status, staged, unstaged)
    home = ending in (FinishMethod.MERGE, FinishMethod.SQUASH)
    assert content(work)["a.txt"][1].endswith(b"agent\n") == home
    assert {name: one for name, one in content(work).items() if name != "a.txt"} == {
        name: one for name, one in before.items() if name != "a.txt"
    }
    assert git(work, "show", f"{ended.commit}:a.txt").endswith("agent")


@pytest.mark.parametrize("ending", list(FinishMethod))
async def test_it_is_known_to_the_repository_itself_when_the_state_folder_has_lost_its_copy_of_the_index(
    tmp_path: Path, work: Path, reviews: ReviewService, ending: FinishMethod
) -> None:
    before = uncommitted(work)
    await turn(reviews, work, "branch")
    shutil.rmtree(tmp_path / "state" / "branches")
    git(work, "reset", "--quiet")
    await reviews.finish("s1", ending)
    assert uncommitted(work) == before


@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_one_that_is_gone_or_is_another_file_by_now_holds_up_no_end(
    tmp_path: Path, work: Path, reviews: ReviewService, mode: ReviewMode
) -> None:
    await turn(reviews, work, mode)
    (work / "in").rename(tmp_path / "elsewhere")
    (work / "in").symlink_to(tmp_path / "elsewhere")
    (work / "empty").unlink()
    (work / "link").unlink()
    (work / "link").mkdir()
    await reviews.finish("s1", FinishMethod.SQUASH)
    assert git(work, "show", "HEAD:a.txt").endswith("agent")
    assert " A plain.txt" in git(work, "status", "--porcelain")
