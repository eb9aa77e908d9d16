"""A session under review, from its first turn to its end."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import (
    AnyPayload,
    CheckpointCreated,
    CheckpointRestored,
    Notice,
    ProposalUpdated,
)
from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.proposals.protection import Protection
from portico.review.proposals.selection import SelectedFile
from portico.review.service import ReviewService
from portico.review.text.change_set import ChangeSet
from portico.sessions import ports
from portico.testing.clock import ManualClock
from tests.review.folders import change, seen
from tests.review.trees import content, git, person_sees, repository, write

LINES = "".join(f"line {number}\n" for number in range(30))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work", a__txt=LINES, b__txt="b\n")


@pytest.fixture
def reviews(tmp_path: Path) -> ReviewService:
    return make(tmp_path)


def make(home: Path) -> ReviewService:
    """As another process would."""
    return ReviewService.at(
        home / "state", os.environ, ManualClock(), protect=lambda _: Protection(deny=("vendor/",))
    )


def proposed(payloads: Sequence[AnyPayload]) -> ProposalUpdated:
    (found,) = [one for one in payloads if isinstance(one, ProposalUpdated)]
    return found


async def turn(
    reviews: ReviewService, work: Path, mode: ReviewMode, files: dict[str, str]
) -> list[AnyPayload]:
    """A whole turn in which the agent writes these files where it works."""
    review: ports.Review = await reviews.open("s1", work, mode)
    payloads = [*await review.begin_turn("Make it better")]
    write(review.folder, files)
    return [*payloads, *await review.end_turn()]


async def test_in_proposal_mode_the_agents_work_reaches_the_files_when_the_person_says_so(
    work: Path, reviews: ReviewService
) -> None:
    before = content(work), person_sees(work)
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n", "d/c.txt": "c\n"}))
    assert (content(work), person_sees(work)) == before
    assert [(one.path, one.operation) for one in told.files] == [("a.txt", "update"), ("d/c.txt", "create")]
    outcome = await reviews.apply("s1", told.proposal_id, told.revision)
    assert outcome.proposal.status == "applied"
    assert (work / "a.txt").read_text() == "new\n"
    assert [type(one) for one in outcome.payloads] == [CheckpointCreated, CheckpointCreated, ProposalUpdated]
    review = await reviews.open("s1", work, "proposal")
    assert not await review.begin_turn("next")
    assert not await review.end_turn(), "What is applied is not proposed again."
    undone = await reviews.undo("s1", told.proposal_id)
    assert (content(work), person_sees(work)[0]) == (before[0], before[1][0])
    assert undone.proposal.status == "open"
    assert not await review.end_turn(), "The agent's tree still has it, and it is proposed already."


@pytest.mark.parametrize("mode", ["direct", "proposal", "worktree"])
async def test_a_workspace_and_a_state_folder_behind_links_are_as_good_as_any(
    tmp_path: Path, mode: ReviewMode
) -> None:
    repository(tmp_path / "real" / "work", a__txt=LINES, b__txt="b\n")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "home").symlink_to(tmp_path / "link")
    work, reviews = tmp_path / "home" / "work", make(tmp_path / "home")
    before = content(work)
    payloads = await turn(reviews, work, mode, {"a.txt": "new\n", "d/c.txt": "c\n"})
    if mode != "direct":
        told = proposed(payloads)
        await reviews.apply("s1", told.proposal_id, told.revision)
    assert (work / "a.txt").read_text() == "new\n"
    (*_, first) = await reviews.checkpoints("s1")
    compared = await reviews.compare("s1", first.id)
    assert [one.path for one in compared.files] == ["a.txt", "d/c.txt"]
    await reviews.restore("s1", first.id)
    assert content(work) == before


async def test_checkpoints_are_listed_with_their_session_and_the_files_that_changed_after_them(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "direct", {"a.txt": "new\n", "d/ü.txt": "c\n"})
    await turn(reviews, work, "direct", {})
    (work / "b.txt").write_text("the person's\n")
    listed = await reviews.list_checkpoints("s1")
    assert [(one.checkpoint.moment, one.changed) for one in listed] == [
        ("before_turn", ("b.txt",)),
        ("after_turn", ()),
        ("before_turn", ("a.txt", "d/ü.txt")),
    ]
    assert {one.checkpoint.session for one in listed} == {"s1"}


async def test_a_turn_that_changes_nothing_tells_nothing(work: Path, reviews: ReviewService) -> None:
    assert await turn(reviews, work, "proposal", {}) == []


async def test_what_is_applied_by_hunk_leaves_the_rest_with_the_agent_and_the_person(
    work: Path, reviews: ReviewService
) -> None:
    new = LINES.replace("line 3\n", "three\n").replace("line 25\n", "twenty-five\n")
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": new}))
    first, second = told.files[0].hunks
    outcome = await reviews.apply("s1", told.proposal_id, 1, [SelectedFile("a.txt", (first.hunk_id,))])
    assert (work / "a.txt").read_text() == LINES.replace("line 3\n", "three\n")
    left = outcome.proposal.files[0].hunks
    assert len(left) == 1
    review = await reviews.open("s1", work, "proposal")
    assert not await review.begin_turn("go on")
    assert (review.folder / "a.txt").read_text() == new
    discarded = await reviews.discard("s1", told.proposal_id, 2, [SelectedFile("a.txt", (left[0].hunk_id,))])
    assert discarded.proposal.status == "applied"
    assert (review.folder / "a.txt").read_text() == LINES.replace("line 3\n", "three\n")
    assert second.hunk_id != first.hunk_id


def rename_one(folder: Path) -> None:
    (folder / "e").mkdir()
    (folder / "d" / "only.txt").rename(folder / "e" / "moved.txt")


def delete_one(folder: Path) -> None:
    (folder / "d" / "only.txt").unlink()
    (folder / "d").rmdir()


def make_program(folder: Path) -> None:
    (folder / "a.txt").chmod(0o755)


def rewrite_binary(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"\0\1\r\n\xff")


def replace_by_folder(folder: Path) -> None:
    (folder / "a.txt").unlink()
    write(folder, {"a.txt/inner": "x\n"})


@pytest.mark.parametrize("deed", [rename_one, delete_one, make_program, rewrite_binary, replace_by_folder])
@pytest.mark.parametrize("inside", [".", "inner"])
async def test_whatever_the_agent_does_to_a_file_is_applied_taken_back_and_applied_again(
    tmp_path: Path, reviews: ReviewService, deed: Callable[[Path], None], inside: str
) -> None:
    work = repository(tmp_path / "work", top__txt="top\n") / inside
    write(work, {"a.txt": LINES, "d/only.txt": "only\n"})
    before = seen(work)
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Do it")
    deed(review.folder)
    told = proposed(await review.end_turn())
    wanted = content(review.folder)
    await reviews.apply("s1", told.proposal_id, 1)
    assert content(work) == wanted
    assert await review.end_turn() == [], "What is applied is not proposed again."
    await reviews.undo("s1", told.proposal_id)
    assert {path: one for path, one in seen(work).items() if ".git" not in path} == {
        path: one for path, one in before.items() if ".git" not in path
    }
    assert await review.end_turn() == [], "What was taken back is proposed already."
    assert content(review.folder) == wanted
    await reviews.apply("s1", told.proposal_id, 3)
    assert content(work) == wanted
    assert await review.begin_turn("next") == []


async def test_a_file_in_the_place_of_a_folder_or_of_a_link_out_can_be_looked_at(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    write(work, {"d/only.txt": "x\n"})
    (tmp_path / "elsewhere").mkdir()
    (work / "out").symlink_to(tmp_path / "elsewhere")
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Make it better")
    shutil.rmtree(review.folder / "d")
    (review.folder / "out").unlink()
    write(review.folder, {"d": "a file now\n", "out/inside.txt": "inside\n"})
    told = proposed(await review.end_turn())
    for path, text in {"d": b"a file now\n", "out/inside.txt": b"inside\n"}.items():
        _, sides = await reviews.file("s1", told.proposal_id, path)
        assert (sides.person, sides.agent, sides.merged, sides.conflicts) == (None, text, text, ())


async def test_what_is_discarded_goes_from_the_agents_tree_too(work: Path, reviews: ReviewService) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n", "c.txt": "c\n"}))
    await reviews.discard("s1", told.proposal_id, 1)
    review = await reviews.open("s1", work, "proposal")
    assert (review.folder / "a.txt").read_text() == LINES
    assert not (review.folder / "c.txt").exists()
    assert await review.end_turn() == []


async def test_what_the_person_writes_meanwhile_is_seen_by_the_agent_in_its_next_turn(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "proposal", {"a.txt": "agent\n"})
    write(work, {"b.txt": "mine\n"})
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("next")
    assert (review.folder / "b.txt").read_text() == "mine\n"
    assert (review.folder / "a.txt").read_text() == "agent\n"


async def test_a_turn_that_was_killed_is_proposed_before_the_next_one(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("first")
    write(review.folder, {"a.txt": "half done\n"})
    again = await make(tmp_path).open("s1", work, "proposal")
    told = proposed(await again.begin_turn("second"))
    assert [one.path for one in told.files] == ["a.txt"]


async def test_an_apply_that_was_killed_before_the_agents_tree_heard_of_it_is_not_proposed_again(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n"}))
    reviews._proposals.apply(told.proposal_id, 1)
    review = await make(tmp_path).open("s1", work, "proposal")
    assert await review.begin_turn("next") == []
    assert await review.end_turn() == []


async def test_a_tree_that_was_deleted_by_hand_is_made_anew_with_all_that_was_proposed(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n", "c.txt": "c\n"}))
    review = await reviews.open("s1", work, "proposal")
    shutil.rmtree(review.folder)
    again = await make(tmp_path).open("s1", work, "proposal")
    assert (again.folder / "a.txt").read_text() == "new\n"
    assert await again.begin_turn("next") == []
    assert [one.revision for one in await reviews.proposals("s1")] == [told.revision]


async def test_a_collision_is_told_and_settled_by_a_side(work: Path, reviews: ReviewService) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": LINES.replace("line 9\n", "agent's\n")}))
    write(work, {"a.txt": LINES.replace("line 9\n", "mine\n")})
    outcome = await reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.conflicted == ("a.txt",)
    assert outcome.proposal.files[0].conflict
    _, sides = await reviews.file("s1", told.proposal_id, "a.txt")
    assert (sides.conflicts[0].person, sides.conflicts[0].agent) == (b"mine\n", b"agent's\n")
    settled = await reviews.apply("s1", told.proposal_id, 2, resolve={"a.txt": "person"})
    assert settled.proposal.status == "applied"
    assert "mine\n" in (work / "a.txt").read_text()
    review = await reviews.open("s1", work, "proposal")
    assert await review.begin_turn("next") == []
    assert "mine\n" in (review.folder / "a.txt").read_text(), "The agent goes on from what was decided."


async def test_two_agents_propose_side_by_side_and_both_are_taken(work: Path, reviews: ReviewService) -> None:
    told: dict[str, ProposalUpdated] = {}
    opened = {name: await reviews.open(name, work, "proposal") for name in ("s1", "s2")}
    for name, line in (("s1", "line 3\n"), ("s2", "line 25\n")):
        await opened[name].begin_turn("Change a line")
        write(opened[name].folder, {"a.txt": LINES.replace(line, f"{name}\n"), f"{name}.txt": "new\n"})
    for name, review in opened.items():
        told[name] = proposed(await review.end_turn())
    for name in opened:
        outcome = await reviews.apply(name, told[name].proposal_id, 1)
        assert not outcome.decided.conflicted
    assert (work / "a.txt").read_text() == LINES.replace("line 3\n", "s1\n").replace("line 25\n", "s2\n")
    assert await opened["s1"].begin_turn("next") == []
    assert (opened["s1"].folder / "s2.txt").exists(), "Each sees what the person took from the other."


async def test_a_denied_file_is_refused_whatever_is_chosen(work: Path, reviews: ReviewService) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"vendor/x": "x\n", "a.txt": "new\n"}))
    assert [(one.path, one.denied) for one in told.files] == [("a.txt", False), ("vendor/x", True)]
    outcome = await reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.refused == ("vendor/x",)
    assert not (work / "vendor").exists()


async def test_the_agent_is_asked_to_revise_with_what_was_rejected(
    work: Path, reviews: ReviewService
) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n", "b.txt": "``` fence\n"}))
    prompt = await reviews.revision_prompt(
        "s1", told.proposal_id, 1, [SelectedFile("b.txt")], "Use no fences, please."
    )
    assert "Use no fences, please." in prompt
    assert "+``` fence" in prompt
    assert "````diff\n" in prompt
    assert "a.txt" not in prompt
    with pytest.raises(InvalidInput, match="now at revision 1, not 7"):
        await reviews.revision_prompt("s1", told.proposal_id, 7)


async def test_direct_mode_keeps_the_files_before_and_after_each_turn(
    work: Path, reviews: ReviewService
) -> None:
    payloads = await turn(reviews, work, "direct", {"a.txt": "agent\n"})
    assert [one.moment for one in payloads if isinstance(one, CheckpointCreated)] == [
        "before_turn",
        "after_turn",
    ]
    checkpoint = (await reviews.checkpoints("s1"))[-1]
    assert checkpoint.label == "Make it better"
    compared = await reviews.compare("s1", checkpoint.id)
    assert [(one.path, one.added, one.removed) for one in compared.files] == [("a.txt", 1, 30)]
    assert "+agent" in compared.files[0].diff


async def test_a_turn_that_changed_nothing_leaves_the_persons_own_changes_their_own(
    work: Path, reviews: ReviewService
) -> None:
    asked = await turn(reviews, work, "direct", {})
    assert [one.moment for one in asked if isinstance(one, CheckpointCreated)] == ["before_turn"]
    write(work, {"b.txt": "mine\n"})
    await turn(reviews, work, "direct", {"c.txt": "agent\n"})
    outcome = await reviews.restore("s1", (await reviews.checkpoints("s1"))[-1].id)
    assert not (work / "c.txt").exists()
    assert outcome.proposal is not None
    assert [one.path for one in outcome.proposal.files] == ["b.txt"]


async def test_going_back_brings_the_persons_own_changes_as_a_proposal(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "direct", {"a.txt": LINES.replace("line 3\n", "agent's\n"), "c.txt": "agent\n"})
    write(work, {"b.txt": "mine\n"})
    mixed = LINES.replace("line 3\n", "agent's\n").replace("line 20\n", "mine\n")
    write(work, {"a.txt": mixed})
    (first,) = [one for one in await reviews.checkpoints("s1") if one.moment == "before_turn"]
    outcome = await reviews.restore("s1", first.id)
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == (LINES, "b\n")
    assert not (work / "c.txt").exists()
    assert isinstance(outcome.payloads[0], CheckpointRestored)
    assert outcome.proposal is not None
    assert (outcome.proposal.origin, len(outcome.proposal.files)) == ("restored", 2)
    await reviews.apply("s1", outcome.proposal.proposal_id, 1)
    assert (work / "a.txt").read_text() == LINES.replace("line 20\n", "mine\n"), (
        "The agent's line stays away."
    )
    assert (work / "b.txt").read_text() == "mine\n"


async def test_the_persons_own_links_come_back_as_a_proposal_too(work: Path, reviews: ReviewService) -> None:
    (work / "changed").symlink_to("a.txt")
    (work / "gone").symlink_to("a.txt")
    await turn(reviews, work, "direct", {"c.txt": "agent\n"})
    (work / "new").symlink_to("b.txt")
    for name, target in {"changed": "b.txt", "b.txt": "a.txt"}.items():
        (work / name).unlink()
        (work / name).symlink_to(target)
    (work / "gone").unlink()
    had = seen(work)
    (first,) = [one for one in await reviews.checkpoints("s1") if one.moment == "before_turn"]
    compared = await reviews.compare("s1", first.id)
    assert [one.path for one in compared.files] == ["b.txt", "c.txt", "changed", "gone", "new"]
    outcome = await reviews.restore("s1", first.id)
    assert outcome.proposal is not None
    assert [one.path for one in outcome.proposal.files] == ["b.txt", "changed", "gone", "new"]
    await reviews.apply("s1", outcome.proposal.proposal_id, 1)
    write(work, {"c.txt": "agent\n"})
    without_git = [
        {name: one for name, one in each.items() if name.split("/")[0] != ".git"}
        for each in (had, seen(work))
    ]
    assert without_git[0] == without_git[1]


async def test_what_was_applied_is_not_taken_for_the_persons_own_when_they_go_back(
    work: Path, reviews: ReviewService
) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "agent\n"}))
    await reviews.apply("s1", told.proposal_id, 1)
    write(work, {"b.txt": "mine\n"})
    (before,) = [one for one in await reviews.checkpoints("s1") if one.moment == "before_apply"]
    outcome = await reviews.restore("s1", before.id)
    assert outcome.proposal is not None
    assert [one.path for one in outcome.proposal.files] == ["b.txt"]
    assert (work / "a.txt").read_text() == LINES


async def test_a_restore_that_was_killed_before_it_could_tell_is_told_with_the_next_turn(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "direct", {"a.txt": "agent\n"})
    write(work, {"b.txt": "mine\n"})
    first = (await reviews.checkpoints("s1"))[-1]

    class Killed(BaseException):
        """Next step of a killed process: nothing."""

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    reviews._parts.sync.put = killed  # type: ignore[method-assign, assignment]
    with pytest.raises(Killed):
        await reviews.restore("s1", first.id)
    assert (work / "b.txt").read_text() == "b\n"
    review = await make(tmp_path).open("s1", work, "direct")
    restored, told, checkpoint = await review.begin_turn("next")
    assert isinstance(restored, CheckpointRestored)
    assert isinstance(told, ProposalUpdated)
    assert isinstance(checkpoint, CheckpointCreated)
    assert (restored.proposal_id, [one.path for one in told.files]) == (told.proposal_id, ["b.txt"])


async def test_branch_mode_works_on_a_branch_named_after_the_prompt_and_merges_it(
    work: Path, reviews: ReviewService
) -> None:
    write(work, {"b.txt": "uncommitted\n"})
    payloads = await turn(reviews, work, "branch", {"a.txt": "agent\n"})
    assert isinstance(payloads[0], Notice)
    assert git(work, "symbolic-ref", "--short", "HEAD") == "portico/make-it-better"
    status = await reviews.status("s1")
    assert (status.branch, status.home_branch, status.unfinished) == ("portico/make-it-better", "main", True)
    outcome = await reviews.finish("s1", FinishMethod.SQUASH, "Make it better")
    assert git(work, "symbolic-ref", "--short", "HEAD") == "main"
    assert outcome.ended.commit == git(work, "rev-parse", "HEAD")
    assert git(work, "status", "--porcelain") == " M b.txt"
    assert not (await reviews.status("s1")).unfinished


async def test_a_second_session_with_the_same_words_gets_a_branch_of_its_own(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "branch", {"a.txt": "agent\n"})
    await reviews.finish("s1", FinishMethod.KEEP)
    review = await reviews.open("s2", work, "branch")
    await review.begin_turn("Make it better!")
    assert git(work, "symbolic-ref", "--short", "HEAD") == "portico/make-it-better-s2"


async def test_a_session_may_keep_branch_after_branch_with_the_same_words(
    work: Path, reviews: ReviewService
) -> None:
    for number in range(4):
        await turn(reviews, work, "branch", {"a.txt": f"try {number}\n"})
        ended = (await reviews.finish("s1", FinishMethod.KEEP)).ended
        assert git(work, "show", f"{ended.reference}:a.txt") == f"try {number}"
    assert git(work, "branch", "--list", "portico/*").count("make-it-better") == 4


@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_a_folder_without_a_repository_is_offered_other_ways(
    tmp_path: Path, reviews: ReviewService, mode: ReviewMode
) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(InvalidInput, match="not in a git repository") as failure:
        await reviews.check(tmp_path / "plain", mode)
    assert "git init" in (failure.value.suggestion or "")
    await reviews.check(tmp_path / "plain", "proposal")
    await reviews.open("s1", tmp_path / "plain", "proposal")
    status = await reviews.status("s1")
    assert status.possible == ("direct", "proposal")
    assert "git init" in (status.hint or "")


async def test_proposals_need_no_repository(tmp_path: Path, reviews: ReviewService) -> None:
    work = tmp_path / "plain"
    write(work, {"a.txt": "a\n"})
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "b\n"}))
    await reviews.apply("s1", told.proposal_id, 1)
    assert (work / "a.txt").read_text() == "b\n"
    assert sorted(one.name for one in work.iterdir()) == ["a.txt"]


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH])
async def test_a_worktree_comes_home_as_a_commit_without_the_persons_own_work(
    work: Path, reviews: ReviewService, ending: FinishMethod
) -> None:
    write(work, {"b.txt": "uncommitted\n", "staged.txt": "staged\n"})
    git(work, "add", "staged.txt")
    await turn(reviews, work, "worktree", {"a.txt": "agent\n", "d/c.txt": "new\n"})
    assert (work / "a.txt").read_text() == LINES
    assert (await reviews.status("s1")).unfinished
    outcome = await reviews.finish("s1", ending, "Work")
    assert (work / "a.txt").read_text() == "agent\n"
    assert git(work, "rev-parse", "HEAD") == outcome.ended.commit
    assert git(work, "status", "--porcelain").split("\n") == [" M b.txt", "A  staged.txt"]
    assert git(work, "log", "-1", "--format=%P").count(" ") == (1 if ending is FinishMethod.MERGE else 0)
    assert git(work, "worktree", "list").count("\n") == 0
    assert not (await reviews.status("s1")).unfinished


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH])
async def test_a_worktree_waits_for_another_git_and_nothing_is_written_before(
    work: Path, reviews: ReviewService, ending: FinishMethod
) -> None:
    await turn(reviews, work, "worktree", {"a.txt": "agent\n", "c.txt": "new\n"})
    before = content(work), person_sees(work)
    lock = work / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(SessionBusy, match="Another git process is using"):
        await reviews.finish("s1", ending)
    lock.unlink()
    assert (content(work), person_sees(work)) == before
    outcome = await reviews.finish("s1", ending)
    assert git(work, "show", f"{outcome.ended.commit}:a.txt") == "agent"
    assert git(work, "status", "--porcelain") == ""


async def test_staged_lines_that_the_session_changed_too_are_said_before_anything_is_written(
    work: Path, reviews: ReviewService
) -> None:
    write(work, {"b.txt": "staged\n"})
    git(work, "add", "b.txt")
    write(work, {"b.txt": "b\n"})
    await turn(reviews, work, "worktree", {"b.txt": "agent\n"})
    before = content(work), person_sees(work)
    with pytest.raises(InvalidInput, match=r"changed the same lines of b\.txt"):
        await reviews.finish("s1", FinishMethod.MERGE)
    assert (content(work), person_sees(work)) == before
    kept = (await reviews.finish("s1", FinishMethod.KEEP)).ended
    assert git(work, "show", f"{kept.reference}:b.txt") == "agent"


async def test_what_is_kept_of_a_worktree_is_not_in_the_way_of_what_is_kept_next(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "worktree", {"first.txt": "first\n"})
    first = (await reviews.finish("s1", FinishMethod.KEEP)).ended
    git(work, "switch", "--quiet", first.reference.removeprefix("refs/heads/"))
    before = content(work), git(work, "status", "--porcelain"), git(work, "rev-parse", "HEAD")
    git(work, "switch", "--quiet", "main")
    await turn(reviews, work, "worktree", {"second.txt": "second\n"})
    second = (await reviews.finish("s1", FinishMethod.KEEP)).ended
    assert second.reference != first.reference
    assert git(work, "show", f"{second.reference}:second.txt") == "second"
    git(work, "switch", "--quiet", first.reference.removeprefix("refs/heads/"))
    assert (content(work), git(work, "status", "--porcelain"), git(work, "rev-parse", "HEAD")) == before


@pytest.mark.parametrize("ending", [FinishMethod.MERGE, FinishMethod.SQUASH])
@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_what_git_was_told_of_single_files_still_holds_when_work_comes_home(
    work: Path, reviews: ReviewService, mode: ReviewMode, ending: FinishMethod
) -> None:
    write(work, {"in/i.txt": "i\n", "out/o.txt": "o\n", "local.txt": "theirs\n"})
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=second")
    git(work, "sparse-checkout", "set", "in")
    write(work, {"local.txt": "mine\n"})
    git(work, "update-index", "--assume-unchanged", "local.txt")
    assert (git(work, "status", "--porcelain"), (work / "out").exists()) == ("", False)
    await turn(reviews, work, mode, {"in/i.txt": "agent\n"})
    await reviews.finish("s1", ending)
    assert git(work, "show", "HEAD:in/i.txt") == "agent"
    assert git(work, "show", "HEAD:out/o.txt") == "o"
    assert git(work, "status", "--porcelain") == "", "Nothing counts as deleted that was never checked out."
    assert (work / "local.txt").read_text() == "mine\n"


@pytest.mark.parametrize("ending", list(FinishMethod))
@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_work_comes_home_to_a_clone_that_has_not_all_contents(
    tmp_path: Path, work: Path, reviews: ReviewService, mode: ReviewMode, ending: FinishMethod
) -> None:
    git(work, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(work, "clone", "--quiet", "--filter=blob:none", "--no-checkout", work.as_uri(), str(partial))
    git(partial, "sparse-checkout", "set", "--no-cone", "/a.txt")
    git(partial, "checkout", "--quiet")
    assert sorted(path.name for path in partial.iterdir()) == [".git", "a.txt"]
    await turn(reviews, partial, mode, {"a.txt": "agent\n"})
    ended = (await reviews.finish("s1", ending)).ended
    assert git(partial, "show", f"{ended.commit}:a.txt") == "agent"
    assert git(partial, "ls-tree", "--name-only", ended.commit) == "a.txt\nb.txt"
    assert git(partial, "status", "--porcelain") == ""


async def test_a_worktree_of_a_folder_inside_a_repository_comes_home_to_that_folder(
    work: Path, reviews: ReviewService
) -> None:
    write(work, {"inner/x.txt": "x\n"})
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=second")
    await turn(reviews, work / "inner", "worktree", {"x.txt": "agent\n"})
    outcome = await reviews.finish("s1", FinishMethod.SQUASH)
    assert git(work, "show", "HEAD:inner/x.txt") == "agent"
    assert git(work, "rev-parse", "HEAD") == outcome.ended.commit
    assert git(work, "status", "--porcelain") == ""


@pytest.mark.parametrize("mode", ["proposal", "worktree"])
async def test_work_on_a_file_that_is_committed_although_a_rule_ignores_it_is_proposed(
    work: Path, reviews: ReviewService, mode: ReviewMode
) -> None:
    write(work, {".gitignore": "*.gen\n", "x.gen": "1\n", "not-work.gen": "1\n"})
    git(work, "add", "--force", ".gitignore", "x.gen")
    git(work, "commit", "--quiet", "--message=second")
    told = proposed(await turn(reviews, work, mode, {"x.gen": "agent\n", "not-work.gen": "agent\n"}))
    assert [one.path for one in told.files] == ["x.gen"]
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert (work / "x.gen").read_text() == "agent\n"


async def test_lines_that_are_committed_meanwhile_are_kept_when_a_worktree_comes_home(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "worktree", {"a.txt": LINES.replace("line 3\n", "agent's\n")})
    write(work, {"a.txt": LINES.replace("line 25\n", "mine\n")})
    git(work, "commit", "--quiet", "--all", "--message=mine")
    await reviews.finish("s1", FinishMethod.MERGE)
    both = LINES.replace("line 3\n", "agent's\n").replace("line 25\n", "mine\n")
    assert (work / "a.txt").read_text() == both
    assert git(work, "status", "--porcelain") == ""


@pytest.mark.parametrize("ending", [FinishMethod.KEEP, FinishMethod.DISCARD])
async def test_a_worktree_that_is_put_away_leaves_the_persons_files_and_is_found_again(
    work: Path, reviews: ReviewService, ending: FinishMethod
) -> None:
    await turn(reviews, work, "worktree", {"a.txt": "agent\n"})
    before = content(work), git(work, "status", "--porcelain"), git(work, "rev-parse", "HEAD")
    outcome = await reviews.finish("s1", ending)
    assert (content(work), git(work, "status", "--porcelain"), git(work, "rev-parse", "HEAD")) == before
    assert git(work, "show", f"{outcome.ended.reference}:a.txt") == "agent"
    branches = git(work, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n")
    assert len(branches) == (2 if ending is FinishMethod.KEEP else 1)
    assert proposed(outcome.payloads).status == "discarded"


async def test_a_worktree_that_collides_with_the_persons_lines_changes_nothing(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "worktree", {"a.txt": LINES.replace("line 3\n", "agent's\n")})
    write(work, {"a.txt": LINES.replace("line 3\n", "mine\n")})
    before = content(work), person_sees(work)[:3]
    with pytest.raises(InvalidInput, match=r"same lines of a\.txt"):
        await reviews.finish("s1", FinishMethod.MERGE)
    assert (content(work), person_sees(work)[:3]) == before
    assert (await reviews.status("s1")).unfinished


async def test_a_worktree_can_be_kept_whatever_was_committed_meanwhile(
    work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "worktree", {"a.txt": LINES.replace("line 3\n", "agent's\n")})
    write(work, {"a.txt": LINES.replace("line 3\n", "mine\n")})
    git(work, "commit", "--quiet", "--all", "--message=mine")
    with pytest.raises(InvalidInput, match=r"same lines of a\.txt"):
        await reviews.finish("s1", FinishMethod.SQUASH)
    outcome = await reviews.finish("s1", FinishMethod.KEEP)
    assert "agent's" in git(work, "show", f"{outcome.ended.reference}:a.txt")
    assert "mine" in (work / "a.txt").read_text()


async def test_what_a_tool_proposes_waits_like_any_other_proposal(work: Path, reviews: ReviewService) -> None:
    write(work, {".gitignore": "built/\n"})
    await reviews.open("s1", work, "direct")
    changes = ChangeSet((change("built/x", None, b"x\n"), change("c.txt", None, b"c\n")))
    told, payloads = await reviews.propose("s1", work, changes)
    assert told is not None
    assert payloads == (told,)
    assert [(one.path, one.generated) for one in told.files] == [("built/x", True), ("c.txt", False)]
    assert (await reviews.status("s1")).proposals == 1
    await reviews.open("s2", work, "direct")
    with pytest.raises(InvalidInput, match="has no proposal"):
        await reviews.apply("s2", told.proposal_id, 1)


async def test_another_mode_waits_for_what_is_undecided(work: Path, reviews: ReviewService) -> None:
    told = proposed(await turn(reviews, work, "proposal", {"a.txt": "new\n"}))
    for changing in (reviews.check(work, "worktree", "s1"), reviews.open("s1", work, "worktree")):
        with pytest.raises(InvalidInput, match="still proposes"):
            await changing
    await reviews.discard("s1", told.proposal_id, 1)
    review = await reviews.open("s1", work, "worktree")
    assert (review.folder / "a.txt").read_text() == LINES


async def test_what_a_killed_turn_had_changed_is_told_also_after_a_mode_was_refused(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Begin")
    write(review.folder, {"a.txt": "new\n"})
    after = make(tmp_path)
    with pytest.raises(InvalidInput, match="still proposes"):
        await after.check(work, "worktree", "s1")
    assert proposed(await (await after.open("s1", work, "proposal")).begin_turn("Go on")).revision == 1


async def test_what_a_deletion_would_lose_is_said_until_it_is_decided(
    work: Path, reviews: ReviewService
) -> None:
    await reviews.check_deletable("s1")
    told = proposed(await turn(reviews, work, "proposal", {"c.txt": "new\n"}))
    with pytest.raises(InvalidInput, match=r"changes to 1 file \(\+1 -0\)") as caught:
        await reviews.check_deletable("s1")
    assert "portico review show s1" in (caught.value.suggestion or "")
    await reviews.discard("s1", told.proposal_id, 1)
    await reviews.check_deletable("s1")


async def test_a_whole_disk_is_refused_before_anybody_waits_for_it(reviews: ReviewService) -> None:
    for opening in (reviews.check(Path("/"), "proposal"), reviews.open("s1", Path("/"), "proposal")):
        with pytest.raises(InvalidInput, match="it is the whole disk") as caught:
            await opening
        assert "Open a smaller folder" in (caught.value.suggestion or "")
    await reviews.check(Path("/"), "direct")


@pytest.mark.parametrize("mode", ["proposal", "worktree", "direct"])
async def test_a_deleted_session_leaves_nothing_in_the_workspace_or_the_state(
    tmp_path: Path, work: Path, reviews: ReviewService, mode: ReviewMode
) -> None:
    before = git(work, "worktree", "list"), git(work, "branch", "--list")
    await turn(reviews, work, mode, {"a.txt": "new\n"})
    await reviews.forget("s1", work)
    assert (git(work, "worktree", "list"), git(work, "branch", "--list")) == before
    assert not [one for one in (tmp_path / "state").rglob("*s1*") if one.is_dir() or one.suffix == ".json"]
    with pytest.raises(InvalidInput, match="Nothing is under review"):
        await reviews.proposals("s1")


async def test_a_session_whose_workspace_is_gone_can_be_deleted(
    tmp_path: Path, work: Path, reviews: ReviewService
) -> None:
    await turn(reviews, work, "proposal", {"a.txt": "new\n"})
    shutil.rmtree(work)
    await reviews.forget("s1", work)
    assert not [one for one in (tmp_path / "state").rglob("*s1*") if one.is_dir() or one.suffix == ".json"]
