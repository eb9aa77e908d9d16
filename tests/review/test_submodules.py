"""Repositories within a repository: a session may work in them, and none is lost from the commits of the outer one."""

import os
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput
from portico.domain.events import Notice, ProposalUpdated
from portico.review.branches.branches import Ending
from portico.review.proposals.selecting import FileChoice
from portico.review.reviews import Reviews
from portico.testing.clock import ManualClock
from tests.review.trees import content, git, repository, write


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a submodule in `lib/sub`, which holds `s.txt`."""
    inner = repository(tmp_path / "inner", s__txt="s\n")
    outer = repository(tmp_path / "work", a__txt="a\n")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib/sub")
    git(outer, "commit", "--quiet", "--message=with a submodule")
    return outer


@pytest.fixture
def reviews(tmp_path: Path) -> Reviews:
    return Reviews.at(tmp_path / "state", os.environ, ManualClock())


def link(work: Path, commit: str = "HEAD") -> str:
    """What a commit has in the place of the submodule."""
    return git(work, "ls-tree", commit, "lib/sub")


@pytest.mark.parametrize("ending", [Ending.MERGE, Ending.SQUASH, Ending.KEEP])
async def test_no_commit_of_a_worktrees_work_takes_the_place_of_a_submodule(
    work: Path, reviews: Reviews, ending: Ending
) -> None:
    before = content(work), link(work), git(work, "rev-parse", "HEAD")
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Do it")
    write(review.folder, {"a.txt": "agent\n", "lib/sub/new.txt": "agent\n"})
    (told,) = [one for one in await review.end_turn() if isinstance(one, ProposalUpdated)]
    with pytest.raises(InvalidInput, match=r"lib/sub/new\.txt is in the submodule lib/sub") as caught:
        await reviews.finish("s1", ending)
    assert "Apply or discard" in (caught.value.suggestion or "")
    assert (content(work), link(work), git(work, "rev-parse", "HEAD")) == before
    inside = [FileChoice("lib/sub/new.txt")]
    await reviews.apply("s1", told.proposal_id, told.revision, inside)
    outcome = await reviews.finish("s1", ending)
    assert link(work, outcome.ended.commit) == before[1]
    assert git(work, "show", f"{outcome.ended.commit}:a.txt") == "agent"
    assert (work / "lib" / "sub" / "new.txt").read_text() == "agent\n"


async def test_a_worktree_can_be_discarded_whatever_it_has_in_a_submodule(
    work: Path, reviews: Reviews
) -> None:
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Do it")
    write(review.folder, {"lib/sub/new.txt": "agent\n"})
    await review.end_turn()
    ended = (await reviews.finish("s1", Ending.DISCARD)).ended
    assert git(work, "show", f"{ended.reference}:lib/sub/new.txt") == "agent"
    assert git(work, "status", "--porcelain") == ""


async def test_who_works_in_a_worktree_is_told_which_repositories_are_not_there(
    work: Path, reviews: Reviews
) -> None:
    repository(work / "own", x__txt="x\n")
    review = await reviews.open("s1", work, "worktree")
    (told,) = [one for one in await review.begin_turn("Do it") if isinstance(one, Notice)]
    assert "lib/sub, own" in told.text
    assert told.details is not None
    assert told.details.split("\n") == [
        "lib/sub: is a submodule, which is empty in a worktree",
        "own: is a repository of its own, which is in no worktree",
    ]


async def test_a_branch_is_not_kept_without_what_the_session_did_in_a_submodule(
    work: Path, reviews: Reviews
) -> None:
    write(work, {"lib/sub/mine.txt": "mine, from before\n"})
    review = await reviews.open("s1", work, "branch")
    await review.begin_turn("Do it")
    write(work, {"a.txt": "agent\n", "lib/sub/s.txt": "agent\n"})
    await review.end_turn()
    with pytest.raises(InvalidInput, match="lib/sub") as caught:
        await reviews.finish("s1", Ending.KEEP)
    assert "git -C lib/sub" in (caught.value.suggestion or "")
    assert (work / "lib" / "sub" / "s.txt").read_text() == "agent\n"
    git(work / "lib" / "sub", "checkout", "--quiet", "--", "s.txt")
    ended = (await reviews.finish("s1", Ending.KEEP)).ended
    assert git(work, "show", f"{ended.reference}:a.txt") == "agent"
    assert (work / "lib" / "sub" / "mine.txt").read_text() == "mine, from before\n"
