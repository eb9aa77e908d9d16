"""Repositories within a repository: a session may work in them, and none is lost from the commits of the outer one."""

import os
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import Notice, ProposalUpdated
from portico.review.branches.session_branches import FinishMethod
from portico.review.branches.submodules import Submodules
from portico.review.proposals.selection import SelectedFile
from portico.review.service import ReviewService
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
def reviews(tmp_path: Path) -> ReviewService:
    return ReviewService.at(tmp_path / "state", os.environ, ManualClock())


def link(work: Path, commit: str = "HEAD") -> str:
    """Entry of the submodule in a commit."""
    return git(work, "ls-tree", commit, "lib/sub")


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH, FinishMethod.KEEP])
async def test_no_commit_of_a_worktrees_work_takes_the_place_of_a_submodule(
    work: Path, reviews: ReviewService, ending: FinishMethod
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
    inside = [SelectedFile("lib/sub/new.txt")]
    await reviews.apply("s1", told.proposal_id, told.revision, inside)
    outcome = await reviews.finish("s1", ending)
    assert link(work, outcome.ended.commit) == before[1]
    assert git(work, "show", f"{outcome.ended.commit}:a.txt") == "agent"
    assert (work / "lib" / "sub" / "new.txt").read_text() == "agent\n"


async def test_a_worktree_can_be_discarded_whatever_it_has_in_a_submodule(
    work: Path, reviews: ReviewService
) -> None:
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Do it")
    write(review.folder, {"lib/sub/new.txt": "agent\n"})
    await review.end_turn()
    ended = (await reviews.finish("s1", FinishMethod.DISCARD)).ended
    assert git(work, "show", f"{ended.reference}:lib/sub/new.txt") == "agent"
    assert git(work, "status", "--porcelain") == ""


async def test_who_works_in_a_worktree_is_told_which_repositories_are_not_there(
    work: Path, reviews: ReviewService
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
    work: Path, reviews: ReviewService
) -> None:
    write(work, {"lib/sub/mine.txt": "mine, from before\n"})
    review = await reviews.open("s1", work, "branch")
    await review.begin_turn("Do it")
    write(work, {"a.txt": "agent\n", "lib/sub/s.txt": "agent\n"})
    await review.end_turn()
    with pytest.raises(InvalidInput, match="lib/sub") as caught:
        await reviews.finish("s1", FinishMethod.KEEP)
    assert "git -C lib/sub" in (caught.value.suggestion or "")
    assert (work / "lib" / "sub" / "s.txt").read_text() == "agent\n"
    git(work / "lib" / "sub", "checkout", "--quiet", "--", "s.txt")
    ended = (await reviews.finish("s1", FinishMethod.KEEP)).ended
    assert git(work, "show", f"{ended.reference}:a.txt") == "agent"
    assert (work / "lib" / "sub" / "mine.txt").read_text() == "mine, from before\n"


def standing(inner: Path) -> tuple[str, ...]:
    """All that the person sees of a submodule: where HEAD is, by which name, what is staged and what is not."""
    return (
        git(inner, "rev-parse", "HEAD"),
        git(inner, "rev-parse", "--abbrev-ref", "HEAD"),
        git(inner, "for-each-ref", "refs/heads"),
        git(inner, "diff", "--cached"),
        git(inner, "status", "--porcelain"),
    )


def commits_in(inner: Path) -> str:
    """The agent commits in a submodule."""
    write(inner, {"s.txt": "agent\n"})
    git(inner, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-am", "agent's")
    return git(inner, "rev-parse", "HEAD")


@pytest.mark.parametrize("ending", [FinishMethod.KEEP, FinishMethod.DISCARD])
@pytest.mark.parametrize("at", ["a branch", "a commit"])
@pytest.mark.parametrize("then", ["no more", "committed", "on a branch of its own"])
async def test_a_submodule_in_which_an_agent_commits_is_back_where_it_was(
    work: Path, reviews: ReviewService, ending: FinishMethod, at: str, then: str
) -> None:
    inner = work / "lib" / "sub"
    if at == "a commit":
        git(inner, "checkout", "--quiet", "--detach")
    write(inner, {"mine.txt": "mine\n", "staged.txt": "staged\n"})
    git(inner, "add", "staged.txt")
    before = (
        content(work),
        standing(inner),
        git(work, "status", "--porcelain"),
        git(work, "rev-parse", "HEAD"),
    )
    review = await reviews.open("s1", work, "branch")
    await review.begin_turn("Do it")
    if then == "on a branch of its own":
        git(inner, "checkout", "--quiet", "-b", "agents")
    made = commits_in(inner)
    write(work, {"a.txt": "agent\n"})
    if then == "committed":
        git(work, "commit", "--quiet", "--all", "--message=agent")
    await review.end_turn()
    ended = (await reviews.finish("s1", ending)).ended
    after = content(work), standing(inner), git(work, "status", "--porcelain"), git(work, "rev-parse", "HEAD")
    if then == "on a branch of its own":
        assert f"{made} commit\trefs/heads/agents" in after[1][2], "Branches that somebody made stay."
        git(inner, "branch", "--quiet", "-D", "agents")
        after = (after[0], standing(inner), *after[2:])
    assert after == before
    assert made in link(work, ended.commit)
    assert made in git(
        inner, "for-each-ref", f"refs/portico/{'kept' if ending is FinishMethod.KEEP else 'discarded'}"
    )


async def test_a_submodule_of_a_submodule_is_back_where_it_was(
    tmp_path: Path, reviews: ReviewService
) -> None:
    innermost = repository(tmp_path / "innermost", s__txt="s\n")
    middle = repository(tmp_path / "middle", m__txt="m\n")
    adding = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    git(middle, *adding, "add", str(innermost), "deep")
    git(middle, "commit", "--quiet", "--message=with a submodule")
    outer = repository(tmp_path / "work", a__txt="a\n")
    git(outer, *adding, "add", str(middle), "lib/sub")
    git(outer, "commit", "--quiet", "--message=with a submodule")
    git(outer, *adding, "update", "--init", "--recursive")
    sub, deep = outer / "lib" / "sub", outer / "lib" / "sub" / "deep"
    before = content(outer), standing(sub), standing(deep), git(outer, "status", "--porcelain")
    review = await reviews.open("s1", outer, "branch")
    await review.begin_turn("Do it")
    commits_in(deep)
    git(sub, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-am", "agent's")
    await review.end_turn()
    await reviews.finish("s1", FinishMethod.DISCARD)
    assert (content(outer), standing(sub), standing(deep), git(outer, "status", "--porcelain")) == before


@pytest.mark.parametrize("ending", [FinishMethod.KEEP, FinishMethod.DISCARD])
async def test_an_end_that_was_cut_short_before_a_submodule_was_back_is_finished_by_asking_again(
    work: Path, reviews: ReviewService, monkeypatch: pytest.MonkeyPatch, ending: FinishMethod
) -> None:
    class Killed(BaseException):
        """Next step of a killed process: nothing."""

    async def die(*_: object) -> None:
        raise Killed

    inner = work / "lib" / "sub"
    before = content(work), standing(inner), git(work, "status", "--porcelain")
    review = await reviews.open("s1", work, "branch", branch="cut")
    await review.begin_turn("Do it")
    made = commits_in(inner)
    write(work, {"a.txt": "agent\n"})
    await review.end_turn()
    with monkeypatch.context() as patched:
        patched.setattr(Submodules, "bring_back", die)
        with pytest.raises(Killed):
            await reviews.finish("s1", ending)
    await reviews.finish("s1", ending)
    assert (content(work), standing(inner), git(work, "status", "--porcelain")) == before
    kept = "refs/heads/portico" if ending is FinishMethod.KEEP else "refs/portico/discarded"
    commits = git(work, "for-each-ref", "--format=%(objectname)", kept).split("\n")
    assert any(made in link(work, one) and git(work, "show", f"{one}:a.txt") == "agent" for one in commits)


async def test_a_submodule_in_the_middle_of_something_is_named_and_nothing_is_put_aside(
    work: Path, reviews: ReviewService
) -> None:
    inner = work / "lib" / "sub"
    review = await reviews.open("s1", work, "branch")
    await review.begin_turn("Do it")
    made = commits_in(inner)
    (Path(git(inner, "rev-parse", "--absolute-git-dir")) / "MERGE_HEAD").write_text(f"{made}\n")
    write(work, {"a.txt": "agent\n"})
    await review.end_turn()
    with pytest.raises(SessionBusy, match=r"lib/sub is in the middle of a merge"):
        await reviews.finish("s1", FinishMethod.DISCARD)
    assert (work / "a.txt").read_text() == "agent\n"
    git(inner, "merge", "--quit")
    await reviews.finish("s1", FinishMethod.DISCARD)
    assert (work / "a.txt").read_text() == "a\n"


async def test_a_submodule_in_the_middle_of_something_from_the_start_holds_up_no_end(
    work: Path, reviews: ReviewService
) -> None:
    inner = work / "lib" / "sub"
    merging = Path(git(inner, "rev-parse", "--absolute-git-dir")) / "MERGE_HEAD"
    merging.write_text(git(inner, "rev-parse", "HEAD") + "\n")
    before = content(work), standing(inner)
    review = await reviews.open("s1", work, "branch")
    await review.begin_turn("Do it")
    write(work, {"a.txt": "agent\n"})
    await review.end_turn()
    await reviews.finish("s1", FinishMethod.DISCARD)
    assert (content(work), standing(inner)) == before
    assert merging.exists()
