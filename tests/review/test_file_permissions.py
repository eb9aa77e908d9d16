"""File permissions and attributes survive an apply, an undo and a restore."""

import os
import stat
import sys
from pathlib import Path

import pytest

from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.checkpoints.checkpoint import Moment
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.driver import SessionReview
from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.files.disk import Disk
from portico.review.service import ReviewService
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, FileContent
from portico.testing.clock import ManualClock
from tests.review.folders import change
from tests.review.trees import checkpoints, git, repository, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights and notes as Linux has them")

NOTE = "user.note"


def note(path: Path, text: bytes = b"mine") -> None:
    try:
        os.setxattr(path, NOTE, text)
    except OSError as error:
        pytest.fail(f"The temporary folder takes no notes ({error.strerror}): set TMPDIR to one that does.")


def notes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith("user.")}


def bits(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def renamed(old: str, new: str, data: bytes) -> FileChange:
    content = FileContent.of(data)
    return FileChange(path=new, old_path=old, operation=ChangeOperation.RENAME, old=content, new=content)


def test_what_is_noted_on_a_file_outlives_an_apply_a_rename_and_an_undo(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "a\n", "b": "b\n"})
    for name in ("a", "b"):
        note(work / name)
        (work / name).chmod(0o440)
    applier = Applier(tmp_path / "state")
    applied = applier.apply(work, ChangeSet((change("a", b"a\n", b"A\n"), renamed("b", "c/d", b"b\n"))))
    assert isinstance(applied, AppliedChanges)
    assert [(notes(work / name), bits(work / name)) for name in ("a", "c/d")] == [
        ({NOTE: b"mine"}, 0o440)
    ] * 2
    applier.apply(work, applied.undo)
    assert [(notes(work / name), bits(work / name)) for name in ("a", "b")] == [({NOTE: b"mine"}, 0o440)] * 2


def test_an_apply_that_is_taken_back_without_hard_links_leaves_what_is_noted(tmp_path: Path) -> None:
    class NoSecondNames(Disk):
        def keep(self, path: Path, kept: Path) -> None:
            found = self.read(path)
            self.write_new(kept, found.data, found.mode, found.owner, path)

        def rename(self, source: Path, target: Path) -> None:
            if target.name == "b" and source.suffix == ".new":
                raise PermissionError(1, "refused", str(target))
            super().rename(source, target)

    work = tmp_path / "work"
    write(work, {"a": "a\n", "b": "b\n"})
    note(work / "a")
    with pytest.raises(Exception, match="everything is as it was"):
        Applier(tmp_path / "state", disk=NoSecondNames()).apply(
            work, ChangeSet((change("a", b"a\n", b"A\n"), change("b", b"b\n", b"B\n")))
        )
    assert ((work / "a").read_text(), notes(work / "a")) == ("a\n", {NOTE: b"mine"})


async def test_what_is_noted_on_a_file_outlives_a_way_back(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    note(work / "a.txt")
    store = checkpoints(tmp_path)
    begin = await store.create(work, "begin")
    (work / "a.txt").write_text("agent\n")
    await store.restore(work, begin.id)
    assert ((work / "a.txt").read_text(), notes(work / "a.txt")) == ("a\n", {NOTE: b"mine"})


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o700])
async def test_a_deleted_file_comes_back_with_the_rights_it_had(tmp_path: Path, mode: int) -> None:
    work = repository(tmp_path / "work", a__txt="a\n", b__txt="b\n")
    (work / "a.txt").chmod(mode)
    store = checkpoints(tmp_path)
    begin = await store.create(work, "begin")
    usual = bits(work / "b.txt")
    (work / "a.txt").unlink()
    (work / "b.txt").unlink()
    gone = await store.create(work, "gone")
    await store.restore(work, begin.id)
    assert (bits(work / "a.txt"), bits(work / "b.txt")) == (mode, usual)
    await store.restore(work, gone.id)
    await store.restore(work, begin.id)
    assert (bits(work / "a.txt"), bits(work / "b.txt")) == (mode, usual)


async def test_a_file_that_was_made_private_after_a_checkpoint_has_its_rights_in_the_next(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    store = checkpoints(tmp_path)
    await store.create(work, "open to all")
    (work / "a.txt").chmod(0o600)
    private = await store.create_if_changed(work, "private", Moment.BEFORE_TURN)
    assert private is not None
    assert await store.create_if_changed(work, "the same", Moment.BEFORE_TURN) is None
    (work / "a.txt").unlink()
    await store.restore(work, private.id)
    assert bits(work / "a.txt") == 0o600


async def test_nobody_gets_to_read_by_a_way_back_what_they_could_not_read_then_or_now(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", then__txt="then\n", now__txt="now\n")
    (work / "then.txt").chmod(0o600)
    store = checkpoints(tmp_path)
    begin = await store.create(work, "begin")
    (work / "then.txt").unlink()
    write(work, {"then.txt": "made anew by the agent\n", "now.txt": "a secret by now\n"})
    (work / "now.txt").chmod(0o600)
    await store.restore(work, begin.id)
    assert (work / "then.txt").read_text() == "then\n"
    assert (bits(work / "then.txt"), bits(work / "now.txt")) == (0o600, 0o600)


@pytest.mark.parametrize("mode", ["direct", "branch"])
@pytest.mark.parametrize(
    ("had", "made", "gets"),
    [
        (0o644, 0o755, 0o644),
        (0o755, 0o644, 0o755),
        (0o600, 0o644, 0o600),
        (0o644, 0o444, 0o644),
        (0o755, 0o744, 0o755),
        (0o750, 0o777, 0o750),
        (0o644, 0o600, 0o600),
    ],
)
async def test_rights_alone_that_an_agent_changed_are_taken_back_and_open_a_file_to_nobody(
    tmp_path: Path, mode: ReviewMode, had: int, made: int, gets: int
) -> None:
    work = repository(tmp_path / "work", a__txt="a\n", b__txt="b\n")
    (work / "a.txt").chmod(had)
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, mode)
    await review.begin_turn("Do it")
    before = (work / "a.txt").stat()
    (work / "a.txt").chmod(made)
    await review.end_turn()
    if mode == "branch":
        await reviews.finish("s1", FinishMethod.DISCARD)
    else:
        await reviews.restore("s1", (await reviews.checkpoints("s1"))[-1].id)
    assert ((work / "a.txt").read_text(), bits(work / "a.txt")) == ("a\n", gets)
    if had & 0o100 == made & 0o100:
        assert (work / "a.txt").stat().st_mtime_ns == before.st_mtime_ns, "It is not written anew."


@pytest.mark.parametrize(("had", "made", "gets"), [(0o600, 0o100, 0o700), (0o640, 0o110, 0o750)])
async def test_a_private_file_that_becomes_a_program_in_a_worktree_stays_private(
    tmp_path: Path, had: int, made: int, gets: int
) -> None:
    work = repository(tmp_path / "work", a__txt="private\n")
    (work / "a.txt").chmod(had)
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "worktree")
    await review.begin_turn("Do it")
    (review.folder / "a.txt").chmod(bits(review.folder / "a.txt") | made)
    (told,) = [one for one in await review.end_turn() if isinstance(one, ProposalUpdated)]
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert bits(work / "a.txt") == gets


async def test_files_on_their_way_back_are_open_to_nobody_else(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    (work / "a.txt").chmod(0o600)
    found: list[int] = []

    def look(_: str) -> None:
        found.extend(bits(one) for one in work.glob(".portico-restore-*"))

    store = Checkpoints(tmp_path / "state", os.environ, ManualClock(), step=look)
    begin = await store.create(work, "begin")
    (work / "a.txt").unlink()
    await store.restore(work, begin.id)
    assert set(found) == {0o700}


async def test_a_checkpoint_that_was_cut_short_leaves_no_file_without_its_rights(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    store = checkpoints(tmp_path)
    await store.create(work, "begin")
    (work / "a.txt").chmod(0o600)
    (place,) = (tmp_path / "state").iterdir()
    index = (place / "store.git" / "index").read_bytes()
    await store.create(work, "killed before its index was in place")
    (place / "store.git" / "index").write_bytes(index)
    begin = await store.create(work, "again")
    (work / "a.txt").unlink()
    await store.restore(work, begin.id)
    assert bits(work / "a.txt") == 0o600


async def test_what_earlier_versions_held_has_its_rights_from_the_next_checkpoint_on(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    (work / "a.txt").chmod(0o600)
    store = checkpoints(tmp_path)
    await store.create(work, "as earlier versions did it")
    (place,) = (tmp_path / "state").iterdir()
    for one in place.glob("permissions*"):
        one.unlink()
    begin = await store.create(work, "now")
    (work / "a.txt").unlink()
    await store.restore(work, begin.id)
    assert bits(work / "a.txt") == 0o600


async def test_a_private_file_of_the_persons_that_a_way_back_puts_aside_is_private_once_applied(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "work", a__txt="a\n")
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "direct")
    await review.begin_turn("Do it")
    write(work, {"a.txt": "agent\n"})
    await review.end_turn()
    write(work, {"diary.txt": "mine\n"})
    (work / "diary.txt").chmod(0o600)
    first = (await reviews.checkpoints("s1"))[-1]
    outcome = await reviews.restore("s1", first.id)
    assert not (work / "diary.txt").exists()
    assert isinstance(outcome.proposal, ProposalUpdated)
    await reviews.apply("s1", outcome.proposal.proposal_id, outcome.proposal.revision)
    assert ((work / "diary.txt").read_text(), bits(work / "diary.txt")) == ("mine\n", 0o600)
    assert git(work, "status", "--porcelain") == "?? diary.txt"


@pytest.mark.parametrize(
    ("had", "made", "gets"),
    [(0o600, 0o644, 0o600), (0o640, 0o664, 0o640), (0o600, 0o755, 0o700), (0o644, 0o600, 0o600)],
)
async def test_an_agent_that_writes_a_file_anew_opens_it_to_nobody(
    tmp_path: Path, had: int, made: int, gets: int
) -> None:
    work = repository(tmp_path / "work", a__txt="private\n")
    (work / "a.txt").chmod(had)
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Do it")
    (review.folder / "beside").write_text("private\nagent's\n")
    (review.folder / "beside").chmod(made)
    (review.folder / "beside").replace(review.folder / "a.txt")
    (told,) = [one for one in await review.end_turn() if isinstance(one, ProposalUpdated)]
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert ((work / "a.txt").read_text(), bits(work / "a.txt")) == ("private\nagent's\n", gets)
    assert await review.end_turn() == [], "What is applied is not proposed again."
    write(work, {"a.txt": "mine\n"})
    await review.begin_turn("Go on")
    assert (review.folder / "a.txt").read_text() == "mine\n"


async def rewriting(tmp_path: Path) -> tuple[Path, ReviewService, SessionReview]:
    """A turn in which the agent has removed a private file, to write it anew."""
    work = repository(tmp_path / "work", a__txt="private\n")
    (work / "a.txt").chmod(0o600)
    reviews = ReviewService.at(tmp_path / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "proposal")
    await review.begin_turn("Do it")
    (review.folder / "a.txt").unlink()
    return work, reviews, review


async def test_a_file_that_is_only_written_anew_is_no_change(tmp_path: Path) -> None:
    _, _, review = await rewriting(tmp_path)
    write(review.folder, {"a.txt": "private\n"})
    assert await review.end_turn() == []


async def test_a_private_file_that_is_written_anew_elsewhere_stays_private(tmp_path: Path) -> None:
    work, reviews, review = await rewriting(tmp_path)
    write(review.folder, {"d/b.txt": "private\n"})
    (told,) = [one for one in await review.end_turn() if isinstance(one, ProposalUpdated)]
    await reviews.apply("s1", told.proposal_id, told.revision)
    assert bits(work / "d" / "b.txt") == 0o600
    write(work, {"d/b.txt": "mine\n"})
    await review.begin_turn("Go on")
    assert (review.folder / "d" / "b.txt").read_text() == "mine\n"
