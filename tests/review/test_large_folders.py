"""A turn in a very large folder, or in a home directory: not held up for long, and told what was not kept."""

import asyncio
import os
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput
from portico.domain.events import CheckpointCreated, Notice, ProposalUpdated
from portico.git.program import Git, GitResult
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.trees import checkpoints, content, git, repository, write

FEW_AT_ONCE = SnapshotBounds(at_once=3, taking_seconds=0)
NO_TIME = SnapshotBounds(listing_seconds=0)
AT_REST = SnapshotBounds(at_once=3, taking_seconds=0, resting_seconds=-60)


def make(home: Path, bounds: SnapshotBounds | None = None) -> ReviewService:
    state = home / ".state"
    return ReviewService.at(state / "review", os.environ, ManualClock(), ours=state, bounds=bounds)


@pytest.mark.parametrize("kind", ["in git", "without git"])
async def test_a_checkpoint_that_takes_long_is_gone_on_with_by_the_next_turns(
    tmp_path: Path, kind: str
) -> None:
    work = tmp_path / "w"
    write(work, {f"d/f{number}": str(number) for number in range(8)})
    if kind == "in git":
        repository(work)
    (work / "d" / "f7").unlink()
    before = content(work)
    store = checkpoints(tmp_path, FEW_AT_ONCE)
    left = len(before)
    while (left := left - 3) > 0:
        with pytest.raises(InvalidInput, match=f"{left} files of .* are yet to be kept"):
            await store.create(work, "a turn", hurried=True)
        assert await store.list(work) == ()
    whole = await store.create(work, "a turn", hurried=True)
    write(work, {"d/f0": "changed", "d/new": "new"})
    (work / "d" / "f1").unlink()
    await store.restore(work, whole.id)
    assert content(work) == before


async def test_a_person_who_asks_for_it_gets_a_whole_checkpoint_however_long_it_takes(tmp_path: Path) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    bounds = SnapshotBounds(at_once=3, taking_seconds=0, listing_seconds=0)
    kept = await checkpoints(tmp_path, bounds).create(work, "before the branch")
    assert await checkpoints(tmp_path, bounds).read(work, kept.id, "f7") == b"1"


@pytest.mark.parametrize("bounds", [NO_TIME, FEW_AT_ONCE])
async def test_a_direct_turn_in_a_large_folder_says_once_that_there_is_no_checkpoint(
    tmp_path: Path, bounds: SnapshotBounds
) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    review = await make(tmp_path, bounds).open("s1", work, "direct")
    with pytest.raises(
        InvalidInput, match=r"too many files to look through|5 files of .* are yet to be kept"
    ) as no:
        await review.begin_turn("Make it better")
    assert "git ignore" in (no.value.details.suggestion or "")
    write(work, {"f0": "agent"})
    assert await review.end_turn() == [], "It was said before the turn."


async def test_an_apply_in_a_large_folder_is_done_and_says_that_there_is_no_checkpoint(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    reviews = make(tmp_path, FEW_AT_ONCE)
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Make it better")
    write(review.folder, {"f0": "agent"})
    (told,) = await review.end_turn()
    assert isinstance(told, ProposalUpdated)
    outcome = await reviews.apply("s1", told.proposal_id, 1)
    assert (work / "f0").read_text() == "agent"
    (notice,) = [one for one in outcome.payloads if isinstance(one, Notice)]
    assert notice.text.startswith("No checkpoint was taken. 5 files of")


async def test_a_branch_has_its_way_back_however_large_the_folder(tmp_path: Path) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    review = await make(tmp_path, FEW_AT_ONCE).open("s1", work, "branch")
    told = await review.begin_turn("Make it better")
    assert [type(one) for one in told] == [Notice, CheckpointCreated]
    assert git(work, "branch", "--show-current") == "portico/make-it-better"


async def test_what_portico_keeps_for_itself_is_in_no_checkpoint_of_a_home_directory(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "mine\n", ".state/sessions.db": "old"})
    reviews = make(tmp_path)
    review = await reviews.open("s1", tmp_path, "direct")
    await review.begin_turn("Make it better")
    write(tmp_path, {"notes.txt": "agent\n", ".state/sessions.db": "new"})
    await review.end_turn()
    first = (await reviews.checkpoints("s1"))[-1]
    compared = await reviews.compare("s1", first.id)
    assert [one.path for one in compared.files] == ["notes.txt"]
    await reviews.restore("s1", first.id)
    assert (tmp_path / "notes.txt").read_text() == "mine\n"
    assert (tmp_path / ".state" / "sessions.db").read_text() == "new"


async def test_what_portico_keeps_for_itself_is_in_no_copy_for_an_agent(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "mine\n", ".state/sessions.db": "old"})
    review = await make(tmp_path).open("s1", tmp_path, "proposal")
    assert content(review.folder) == {"notes.txt": ("file", b"mine\n")}


async def test_what_took_too_long_once_holds_up_no_turn_again_until_there_is_less_to_look_through(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    with pytest.raises(InvalidInput, match="too many files to look through"):
        await checkpoints(tmp_path, NO_TIME).create(work, "a turn", hurried=True)
    store = checkpoints(tmp_path)
    with pytest.raises(InvalidInput, match="too many files to look through"):
        await store.create(work, "the next turn, which could wait for it", hurried=True)
    write(work, {".gitignore": "f*\n"})
    os.utime(work / ".gitignore", (9_000_000_000, 9_000_000_000))
    await store.create(work, "with less to look through", hurried=True)
    (work / ".gitignore").unlink()
    await store.create(work, "and from then on", hurried=True)
    assert len(await store.list(work)) == 2


async def test_what_took_too_long_is_tried_again_after_a_while(tmp_path: Path) -> None:
    work = repository(tmp_path / "w", a__txt="1")
    with pytest.raises(InvalidInput, match="too many files to look through"):
        await checkpoints(tmp_path, NO_TIME).create(work, "a turn", hurried=True)
    await checkpoints(tmp_path, SnapshotBounds(giving_up_seconds=0)).create(work, "much later", hurried=True)


async def test_a_person_who_asks_for_it_gets_a_checkpoint_whatever_took_too_long_before(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "w", a__txt="1")
    with pytest.raises(InvalidInput, match="too many files to look through"):
        await checkpoints(tmp_path, NO_TIME).create(work, "a turn", hurried=True)
    await checkpoints(tmp_path).create(work, "asked for")


def going_on() -> list[asyncio.Task[object]]:
    return [one for one in asyncio.all_tasks() if one.get_name().startswith("keeping the rest of")]


@pytest.mark.parametrize("kind", ["in git", "without git"])
async def test_what_no_turn_could_wait_for_is_kept_while_the_agent_works_and_the_next_has_a_way_back(
    tmp_path: Path, kind: str
) -> None:
    work = tmp_path / "w"
    write(work, {f"d/f{number}": str(number) for number in range(8)})
    if kind == "in git":
        repository(work)
        write(work, {f"untracked/f{number}": str(number) for number in range(8)})
    reviews = make(tmp_path, AT_REST)
    review = await reviews.open("s1", work, "direct")
    with pytest.raises(InvalidInput, match="are yet to be kept"):
        await review.begin_turn("Make it better")
    (task,) = going_on()
    await asyncio.wait_for(task, 60)
    write(work, {"d/f0": "agent's first"})
    assert await review.end_turn() == []
    before = content(work)
    (told,) = await review.begin_turn("And better")
    assert isinstance(told, CheckpointCreated)
    write(work, {"d/f0": "agent's second", "d/f1": "agent's"})
    await review.end_turn()
    await reviews.restore("s1", told.checkpoint_id)
    assert content(work) == before


async def test_nothing_goes_on_once_the_turn_is_over(tmp_path: Path) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    review = await make(tmp_path, AT_REST).open("s1", work, "direct")
    with pytest.raises(InvalidInput, match="are yet to be kept"):
        await review.begin_turn("Make it better")
    assert len(going_on()) == 1
    await review.end_turn()
    assert going_on() == []


async def test_a_file_that_has_just_been_written_is_left_to_the_turns_themselves(tmp_path: Path) -> None:
    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    fresh = SnapshotBounds(at_once=3, taking_seconds=0, resting_seconds=3600)
    await checkpoints(tmp_path, fresh).continue_snapshot(work)
    with pytest.raises(InvalidInput, match=r"5 files of .* are yet to be kept"):
        await checkpoints(tmp_path, fresh).create(work, "a turn", hurried=True)


async def test_what_was_taken_by_one_that_died_is_not_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Next step of a killed process: nothing."""

    taken: list[str] = []
    run = Git.run

    async def die(git: Git, *words: str, given: bytes = b"", into: Path | None = None) -> GitResult:
        if words[0] == "update-index":
            taken.append(words[0])
            if len(taken) == 2:
                raise Killed
        return await run(git, *words, given=given, into=into)

    work = repository(tmp_path / "w", **{f"f{number}": "1" for number in range(8)})
    with monkeypatch.context() as patched:
        patched.setattr(Git, "run", die)
        with pytest.raises(Killed):
            await checkpoints(tmp_path, FEW_AT_ONCE).create(work, "as long as it takes")
    with pytest.raises(InvalidInput, match=r"2 files of .* are yet to be kept"):
        await checkpoints(tmp_path, FEW_AT_ONCE).create(work, "a turn", hurried=True)
