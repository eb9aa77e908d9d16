"""A session under review whose person has an editor open: what is typed counts, and one undo takes an apply back."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PorticoError, WindowLost
from portico.domain.events import AnyPayload, CheckpointCreated, Notice, ProposalUpdated
from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.proposals.selection import SelectedFile
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from portico.testing.windows import MemoryWindow, MemoryWindows
from tests.review.trees import content, repository, write

LINES = "".join(f"line {number}\n" for number in range(30))
TYPED = LINES.replace("line 1\n", "typed, not saved\n")


class Desk:
    """A repository with a window open on it, and a session of an agent."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = repository(home / "work", a__txt=LINES, b__txt="b\n", c__txt="c\n")
        self.window = MemoryWindow(self.work)
        self.windows = MemoryWindows(self.window)
        self.reviews = self.another()

    def another(self) -> ReviewService:
        """As another process would."""
        return ReviewService.at(self.home / "state", os.environ, ManualClock(), windows=self.windows)

    async def turn(
        self, deed: Callable[[Path], None], mode: ReviewMode = "proposal"
    ) -> tuple[list[AnyPayload], ProposalUpdated]:
        review = await self.reviews.open("s1", self.work, mode)
        payloads = [*await review.begin_turn("Make it better")]
        deed(review.folder)
        payloads += await review.end_turn()
        return payloads, proposed(payloads)

    async def proposes(self, files: dict[str, str], mode: ReviewMode = "proposal") -> ProposalUpdated:
        return (await self.turn(lambda folder: write(folder, files), mode))[1]

    async def refused(self, told: ProposalUpdated) -> PorticoError:
        """An apply that is refused, and changes nothing."""
        before = content(self.work), self.sees("a.txt", "b.txt")
        with pytest.raises(PorticoError) as caught:
            await self.reviews.apply("s1", told.proposal_id, told.revision)
        assert (content(self.work), self.sees("a.txt", "b.txt")) == before
        return caught.value

    def sees(self, *paths: str) -> list[str | None]:
        return [self.window.text(path) for path in paths]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def proposed(payloads: Sequence[AnyPayload]) -> ProposalUpdated:
    (found,) = [one for one in payloads if isinstance(one, ProposalUpdated)]
    return found


def saved(desk: Desk, path: str) -> str:
    return (desk.work / path).read_bytes().decode()


@pytest.mark.parametrize("mode", ["proposal", "worktree"])
async def test_the_agent_begins_with_what_is_typed_and_proposes_a_difference_to_that(
    desk: Desk, mode: ReviewMode
) -> None:
    desk.window.type("a.txt", TYPED)
    told = await desk.proposes({"a.txt": TYPED.replace("line 20\n", "twenty\n")}, mode)
    (file,) = told.files
    assert (file.added, file.removed, file.conflict) == (1, 1, False)
    assert saved(desk, "a.txt") == LINES


async def test_what_was_typed_is_followed_until_it_is_saved_or_given_up(desk: Desk) -> None:
    desk.window.type("a.txt", TYPED)
    desk.window.type("b.txt", "typed\n")
    review = await desk.reviews.open("s1", desk.work, "proposal")
    assert await review.begin_turn("One") == []
    assert (review.folder / "a.txt").read_text() == TYPED
    assert await review.end_turn() == []
    desk.window.type("a.txt", "typed again\n")
    desk.window.revert("b.txt")
    await review.begin_turn("Two")
    assert (review.folder / "a.txt").read_text() == "typed again\n"
    assert (review.folder / "b.txt").read_text() == "b\n"
    desk.window.save("a.txt")
    await review.begin_turn("Three")
    assert (review.folder / "a.txt").read_text() == "typed again\n"
    assert await review.end_turn() == []


@pytest.mark.parametrize(
    ("stored", "typed", "seen"),
    [
        (b"\xef\xbb\xbfone\r\n", "öne\r\n", b"\xef\xbb\xbf\xc3\xb6ne\r\n"),
        (b"one\r\ntwo\r\n", "one\nthree\n", b"one\r\nthree\r\n"),
        ("\ufeffone\n".encode("utf-16-le"), "two\n", "\ufefftwo\n".encode("utf-16-le")),
        (b"no end", "no end either", b"no end either"),
    ],
)
async def test_typed_text_has_the_encoding_and_line_ends_of_its_file(
    desk: Desk, stored: bytes, typed: str, seen: bytes
) -> None:
    (desk.work / "a.txt").write_bytes(stored)
    desk.window.type("a.txt", typed)
    review = await desk.reviews.open("s1", desk.work, "proposal")
    await review.begin_turn("Look")
    assert (review.folder / "a.txt").read_bytes() == seen
    assert await review.end_turn() == []


async def test_secrets_that_are_typed_are_not_asked_for_and_a_deaf_window_is_told_of(desk: Desk) -> None:
    write(desk.work, {".env": "KEY=1\n"})
    desk.window.type(".env", "KEY=hush\n")
    desk.window.deaf = True
    review = await desk.reviews.open("s1", desk.work, "proposal")
    told = [one for one in await review.begin_turn("One") if isinstance(one, Notice)]
    assert all("unsaved" not in one.text for one in told)
    desk.window.type("a.txt", TYPED)
    (notice,) = [one for one in await review.begin_turn("Two") if isinstance(one, Notice)]
    assert "a.txt without your unsaved changes" in notice.text
    assert notice.details == "The Twin window did not answer within 5 s."
    assert (review.folder / "a.txt").read_text() == LINES


async def test_an_apply_is_one_edit_of_the_window_and_what_was_typed_stays_typed(desk: Desk) -> None:
    desk.window.type("a.txt", TYPED)
    wanted = TYPED.replace("line 20\n", "twenty\n")
    told = await desk.proposes({"a.txt": wanted, "b.txt": "bee\n", "d/new.txt": "new\n"})
    outcome = await desk.reviews.apply("s1", told.proposal_id, told.revision)
    assert desk.window.labels == ["Portico: applying a proposal (a.txt and 2 more)"]
    assert desk.sees("a.txt", "b.txt", "d/new.txt") == [wanted, "bee\n", "new\n"]
    assert [saved(desk, path) for path in ("a.txt", "b.txt", "d/new.txt")] == [LINES, "bee\n", "new\n"]
    assert (outcome.proposal.status, outcome.proposal.can_undo) == ("applied", True)
    kinds = [type(one) for one in outcome.payloads]
    assert kinds == [CheckpointCreated, CheckpointCreated, ProposalUpdated]
    review = await desk.reviews.open("s1", desk.work, "proposal")
    assert (review.folder / "a.txt").read_text() == wanted
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []
    undone = await desk.reviews.undo("s1", told.proposal_id)
    assert desk.sees("a.txt", "b.txt", "d/new.txt") == [TYPED, "b\n", None]
    assert (undone.proposal.status, undone.decided.already) == ("open", False)
    assert not (desk.work / "d").exists()
    assert len(desk.window.labels) == 2


async def test_hunks_are_applied_alone_beside_what_is_typed(desk: Desk) -> None:
    desk.window.type("a.txt", TYPED)
    wanted = TYPED.replace("line 12\n", "twelve\n").replace("line 25\n", "twenty-five\n")
    told = await desk.proposes({"a.txt": wanted})
    first, _ = told.files[0].hunks
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1, [SelectedFile("a.txt", (first.hunk_id,))])
    assert desk.window.text("a.txt") == TYPED.replace("line 12\n", "twelve\n")
    (left,) = outcome.proposal.files
    assert (left.added, left.removed, left.conflict) == (1, 1, False)
    review = await desk.reviews.open("s1", desk.work, "proposal")
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []
    assert (review.folder / "a.txt").read_text() == wanted


async def test_what_is_typed_meanwhile_is_merged_or_a_conflict_that_changes_nothing(desk: Desk) -> None:
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n"), "b.txt": "bee\n"})
    desk.window.type("a.txt", LINES.replace("line 20\n", "mine\n"))
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.conflicted == ("a.txt",)
    assert desk.sees("b.txt") == ["b\n"]
    _, sides = await desk.reviews.file("s1", told.proposal_id, "a.txt")
    assert sides.conflicts[0].person == b"mine\n"
    desk.window.type("a.txt", TYPED)
    outcome = await desk.reviews.apply("s1", told.proposal_id, outcome.proposal.revision)
    assert outcome.decided.merged == ("a.txt",)
    assert desk.sees("a.txt", "b.txt") == [TYPED.replace("line 20\n", "twenty\n"), "bee\n"]
    assert saved(desk, "a.txt") == LINES


async def test_a_side_is_chosen_against_what_is_typed(desk: Desk) -> None:
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n")})
    desk.window.type("a.txt", TYPED.replace("line 20\n", "mine\n"))
    await desk.reviews.apply("s1", told.proposal_id, 1, resolve={"a.txt": "agent"})
    assert desk.window.text("a.txt") == TYPED.replace("line 20\n", "twenty\n")


async def test_a_key_at_the_last_moment_is_merged_and_a_second_one_is_a_conflict(desk: Desk) -> None:
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n")})
    keys = iter([TYPED])
    desk.window.before_edit = lambda: desk.window.type("a.txt", next(keys, desk.window.text("a.txt") or ""))
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1)
    assert outcome.decided.merged == ("a.txt",)
    assert desk.window.text("a.txt") == TYPED.replace("line 20\n", "twenty\n")
    seen = desk.window.text("a.txt") or ""
    told = await desk.proposes({"a.txt": seen.replace("line 10\n", "ten\n"), "b.txt": "bee\n"})
    desk.window.before_edit = lambda: desk.window.type("a.txt", f"{desk.window.text('a.txt')}more\n")
    outcome = await desk.reviews.apply("s1", told.proposal_id, told.revision)
    assert outcome.decided.conflicted == ("a.txt",)
    assert desk.sees("a.txt", "b.txt") == [f"{seen}more\nmore\n", "b\n"]


def make_program(folder: Path) -> None:
    (folder / "b.txt").chmod(0o755)
    write(folder, {"a.txt": LINES.replace("line 20\n", "twenty\n")})


def write_binary(folder: Path) -> None:
    (folder / "b.txt").write_bytes(b"\0\1")
    write(folder, {"a.txt": LINES.replace("line 20\n", "twenty\n")})


@pytest.mark.parametrize("deed", [make_program, write_binary])
async def test_what_no_window_can_write_goes_to_the_disk_but_never_past_what_is_typed(
    desk: Desk, deed: Callable[[Path], None]
) -> None:
    _, told = await desk.turn(deed)
    desk.window.type("a.txt", TYPED)
    refusal = await desk.refused(told)
    assert isinstance(refusal, InvalidInput)
    assert refusal.message == "a.txt has unsaved changes in Twin, so nothing was written."
    assert refusal.suggestion == "Save or discard your unsaved changes in a.txt, then try again."
    desk.window.save("a.txt")
    await desk.reviews.apply("s1", told.proposal_id, told.revision)
    assert saved(desk, "a.txt") == TYPED.replace("line 20\n", "twenty\n")
    assert desk.window.labels == []


async def test_a_file_goes_away_only_when_what_is_typed_in_it_is_saved(desk: Desk) -> None:
    before = saved(desk, "a.txt")
    desk.window.type("a.txt", TYPED)
    _, told = await desk.turn(lambda folder: (folder / "a.txt").unlink())
    assert "Save or discard" in ((await desk.refused(told)).suggestion or "")
    assert saved(desk, "a.txt") == before


async def test_a_window_that_refuses_or_is_closed_leaves_it_to_the_disk(desk: Desk) -> None:
    wanted = LINES.replace("line 20\n", "twenty\n")
    told = await desk.proposes({"a.txt": wanted})
    desk.window.refuses = True
    await desk.reviews.apply("s1", told.proposal_id, 1)
    assert saved(desk, "a.txt") == wanted
    desk.windows.window = None
    undone = await desk.reviews.undo("s1", told.proposal_id)
    assert saved(desk, "a.txt") == LINES
    desk.windows.window = desk.window
    desk.window.type("a.txt", TYPED)
    assert "Save or discard" in ((await desk.refused(undone.proposal)).suggestion or "")


async def test_a_file_that_the_window_cannot_save_is_told_and_no_file_is_changed(desk: Desk) -> None:
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n"), "b.txt": "bee\n"})
    desk.window.locked = frozenset({"b.txt"})
    refusal = await desk.refused(told)
    assert refusal.message == "b.txt could not be saved in Twin; everything is as it was."
    assert "Make it writable" in (refusal.suggestion or "")
    desk.window.locked = frozenset()
    await desk.reviews.apply("s1", told.proposal_id, told.revision)
    assert desk.sees("b.txt") == ["bee\n"]


async def test_a_window_that_reads_and_does_not_edit_keeps_what_is_typed(desk: Desk) -> None:
    desk.windows.window = desk.window = MemoryWindow(desk.work, edits=False)
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n")})
    desk.window.type("a.txt", TYPED)
    assert "Save or discard" in ((await desk.refused(told)).suggestion or "")
    desk.window.revert("a.txt")
    await desk.reviews.apply("s1", told.proposal_id, 1)
    assert saved(desk, "a.txt") == LINES.replace("line 20\n", "twenty\n")


async def test_typed_text_that_cannot_be_read_is_not_written_over(desk: Desk) -> None:
    told = await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n")})
    desk.window.type("a.txt", TYPED)
    desk.window.deaf = True
    assert "Save or discard" in ((await desk.refused(told)).suggestion or "")


async def test_an_edit_that_was_done_and_never_answered_counts_once(desk: Desk) -> None:
    told = await desk.proposes({"b.txt": "b\nmore\n", "c.txt": "c\nmore\n"})
    desk.window.lost_after = 2
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1)
    assert (outcome.proposal.status, desk.sees("b.txt", "c.txt")) == ("applied", ["b\nmore\n", "c\nmore\n"])
    desk.window.lost_after = None
    await desk.reviews.undo("s1", told.proposal_id)
    assert desk.sees("b.txt", "c.txt") == ["b\n", "c\n"]


async def test_a_silent_window_that_did_nothing_is_said_to_and_can_be_tried_again(desk: Desk) -> None:
    told = await desk.proposes({"b.txt": "bee\n"})
    desk.window.deaf = True
    refusal = await desk.refused(told)
    assert isinstance(refusal, WindowLost)
    assert "b.txt is as it was" in refusal.message
    desk.window.deaf = False
    await desk.reviews.apply("s1", told.proposal_id, 1)
    assert desk.sees("b.txt") == ["bee\n"]


async def test_a_window_that_closes_before_it_did_anything_leaves_it_to_the_disk(desk: Desk) -> None:
    told = await desk.proposes({"b.txt": "bee\n"})

    def close() -> None:
        desk.window.deaf, desk.windows.window = True, None

    desk.window.before_edit = close
    assert (await desk.reviews.apply("s1", told.proposal_id, 1)).proposal.status == "applied"
    assert saved(desk, "b.txt") == "bee\n"


async def test_what_was_half_done_is_told_as_it_is_and_finished_by_the_next_try(desk: Desk) -> None:
    desk.window.type("a.txt", TYPED)
    told = await desk.proposes({"a.txt": TYPED.replace("line 20\n", "x\n"), "b.txt": "bee\n"})
    desk.window.lost_after = 1
    with pytest.raises(WindowLost) as caught:
        await desk.reviews.apply("s1", told.proposal_id, 1)
    assert caught.value.message.endswith("a.txt has the change; b.txt is as it was.")
    assert (await desk.reviews.payload("s1", told.proposal_id)).status == "open"
    desk.window.lost_after = None
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1)
    assert outcome.proposal.status == "applied"
    assert desk.sees("a.txt", "b.txt") == [TYPED.replace("line 20\n", "x\n"), "bee\n"]


async def test_unsaved_files_of_a_window_that_vanished_cannot_be_told(desk: Desk) -> None:
    desk.window.type("a.txt", TYPED)
    told = await desk.proposes({"a.txt": TYPED.replace("line 20\n", "x\n")})

    def close() -> None:
        desk.window.deaf, desk.windows.window = True, None

    desk.window.before_edit = close
    refusal = await desk.refused(told)
    assert refusal.message.endswith("a.txt is in an unknown state.")


async def test_a_kill_between_the_edit_and_the_record_counts_as_applied_the_next_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def move(folder: Path) -> None:
        (folder / "b.txt").rename(folder / "moved.txt")
        write(folder, {"a.txt": LINES.replace("line 20\n", "twenty\n")})

    _, told = await desk.turn(move)

    class Killed(BaseException):
        pass

    def die(place: Path, target: Path) -> Path:
        raise Killed

    with monkeypatch.context() as patched:
        desk.window.before_edit = lambda: patched.setattr(Path, "replace", die)
        with pytest.raises(Killed):
            await desk.reviews.apply("s1", told.proposal_id, 1)
    after = content(desk.work)
    assert "moved.txt" in after
    desk.window.before_edit = lambda: None
    desk.reviews = desk.another()
    outcome = await desk.reviews.apply("s1", told.proposal_id, 1)
    assert (outcome.proposal.status, content(desk.work)) == ("applied", after)
    assert len(desk.window.labels) == 1
    assert proposals_left(desk) == []


def proposals_left(desk: Desk) -> list[str]:
    return [one.name for one in (desk.home / "state" / "proposals").rglob("*.edit")]


async def test_an_undo_in_the_editor_leaves_nothing_to_take_back_and_that_is_said(desk: Desk) -> None:
    def rework(folder: Path) -> None:
        write(folder, {"a.txt": LINES.replace("line 20\n", "twenty\n"), "new.txt": "new\n"})
        (folder / "b.txt").unlink()
        (folder / "c.txt").rename(folder / "moved.txt")

    _, told = await desk.turn(rework)
    await desk.reviews.apply("s1", told.proposal_id, 1)
    desk.window.undo()
    outcome = await desk.reviews.undo("s1", told.proposal_id)
    assert (outcome.decided.already, outcome.proposal.status) == (True, "open")
    (notice,) = [one for one in outcome.payloads if isinstance(one, Notice)]
    assert notice.text.startswith("Nothing to undo")
    assert len(desk.window.labels) == 1
    assert desk.sees("a.txt", "b.txt", "c.txt", "new.txt") == [LINES, "b\n", "c\n", None]
    review = await desk.reviews.open("s1", desk.work, "proposal")
    assert (review.folder / "moved.txt").read_text() == "c\n"
    assert [*await review.begin_turn("next"), *await review.end_turn()] == []


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (b"one\r\ntwo\r\n", b"one\r\nthree\r\n"),
        (b"\xef\xbb\xbfone\n", b"\xef\xbb\xbftwo\n"),
        ("\ufeffone\n".encode("utf-16-le"), "\ufefftwo\n".encode("utf-16-le")),
        (b"one\n", b"no end"),
        (b"one\n", b"one\r\n"),
        (b"mixed\r\nends\n", b"mixed\r\nends\nand more\r\n"),
        (b"latin \xe4\n", b"latin \xe4\xf6\n"),
        (b"one\n", b"\xef\xbb\xbfone\n"),
    ],
)
async def test_every_byte_survives_the_way_through_the_window_and_back(
    desk: Desk, stored: bytes, wanted: bytes
) -> None:
    (desk.work / "b.txt").write_bytes(stored)

    def rewrite(folder: Path) -> None:
        (folder / "b.txt").write_bytes(wanted)

    _, told = await desk.turn(rewrite)
    await desk.reviews.apply("s1", told.proposal_id, 1)
    assert (desk.work / "b.txt").read_bytes() == wanted
    await desk.reviews.undo("s1", told.proposal_id)
    assert (desk.work / "b.txt").read_bytes() == stored


async def test_a_worktree_does_not_come_home_over_what_is_typed(desk: Desk) -> None:
    await desk.proposes({"a.txt": LINES.replace("line 20\n", "twenty\n")}, "worktree")
    desk.window.type("a.txt", TYPED)
    before = content(desk.work)
    with pytest.raises(InvalidInput, match="unsaved changes"):
        await desk.reviews.finish("s1", FinishMethod.SQUASH)
    assert content(desk.work) == before
    desk.window.revert("a.txt")
    await desk.reviews.finish("s1", FinishMethod.SQUASH)
    assert saved(desk, "a.txt") == LINES.replace("line 20\n", "twenty\n")
