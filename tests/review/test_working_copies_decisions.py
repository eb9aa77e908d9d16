"""After the person has applied, given up or taken back a part, the agent's tree and its changes follow."""

from pathlib import Path

import msgspec
import pytest

from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, FileContent, apply_hunks
from portico.review.text.diffs import diff
from portico.review.working_copies.lifecycle import WorkingCopies, WorkingCopy
from tests.review.test_working_copies import only, told, working_copies
from tests.review.trees import content, repository, write

NOTHING = ChangeSet()
LINES = "".join(f"line {number}\n" for number in range(40))


def edited(*numbers: int, by: str) -> str:
    return "".join(f"line {n} {by}\n" if n in numbers else f"line {n}\n" for n in range(40))


class Desk:
    """A workspace with a long file, its working copy, and the ways in which a person decides."""

    def __init__(self, tmp_path: Path) -> None:
        self.workspace = repository(tmp_path / "w", long=LINES, other="o\n")
        self.mode: WorkingCopies = working_copies(tmp_path)
        self.applier = Applier(tmp_path / "state" / "applies")
        self.place: WorkingCopy | None = None

    async def open(self) -> Path:
        self.place = await self.mode.open(self.workspace, "s1")
        return self.place.folder

    async def changes(self) -> ChangeSet:
        assert self.place is not None
        return await self.mode.changes(self.place)

    def apply(self, changes: ChangeSet) -> AppliedChanges:
        applied = self.applier.apply(self.workspace, changes)
        assert isinstance(applied, AppliedChanges)
        return applied

    async def settle(self, applied: ChangeSet = NOTHING, discarded: ChangeSet = NOTHING) -> tuple[str, ...]:
        assert self.place is not None
        return await self.mode.follow_decisions(self.place, applied, discarded)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def some_hunks(change: FileChange, *numbers: int) -> FileChange:
    """The same change with only these of its hunks."""
    assert change.old is not None
    assert change.new is not None
    hunks = diff(change.old.loaded(), change.new.loaded()).hunks
    chosen = [hunks[number].hunk_id for number in numbers]
    return msgspec.structs.replace(
        change, new=FileContent.of(apply_hunks(change.old.loaded(), hunks, chosen)), new_mode=change.old_mode
    )


async def test_after_all_is_applied_nothing_is_left_to_propose(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, by="agent"), "new": "n\n"})
    (folder / "other").unlink()
    changes = await desk.changes()
    desk.apply(changes)
    assert await desk.settle(changes) == ()
    assert (await desk.changes()).changes == ()
    assert content(folder) == content(desk.workspace)


async def test_lines_that_the_person_wrote_meanwhile_reach_the_agent_with_the_apply(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, by="agent")})
    changes = await desk.changes()
    write(desk.workspace, {"long": edited(30, by="person")})
    assert desk.apply(changes).merged == ("long",)
    for _ in range(2):  # Told twice is told once.
        await desk.settle(changes)
        assert (await desk.changes()).changes == ()
        assert content(folder) == content(desk.workspace)
    assert "line 30 person" in (folder / "long").read_text()


async def test_hunks_that_were_not_applied_stay_proposed_beside_the_persons_lines(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, 35, by="agent")})
    part = ChangeSet((some_hunks(only(await desk.changes()), 0),))
    write(desk.workspace, {"long": edited(20, by="person")})
    desk.apply(part)
    await desk.settle(part)
    rest = only(await desk.changes())
    assert rest.old is not None
    assert rest.old.data == (desk.workspace / "long").read_bytes()
    assert rest.new_data is not None
    assert b"line 20 person" in rest.new_data
    assert b"line 35 agent" in rest.new_data


async def test_where_the_person_is_in_the_way_of_the_rest_their_line_is_not_proposed_away(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, 35, by="agent")})
    part = ChangeSet((some_hunks(only(await desk.changes()), 0),))
    desk.apply(part)
    write(
        desk.workspace, {"long": (desk.workspace / "long").read_text().replace("line 35", "line 35 person")}
    )
    await desk.settle(part)
    rest = only(await desk.changes())
    assert rest.old is not None
    assert rest.old.data == edited(3, by="agent").encode()
    assert (folder / "long").read_text() == edited(3, 35, by="agent")


async def test_what_is_given_up_goes_from_the_agents_tree_by_file_and_by_hunk(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, 20, 35, by="agent"), "new": "n\n"})
    (folder / "other").rename(folder / "moved")
    changes = await desk.changes()
    long = next(one for one in changes.changes if one.path == "long")
    others = tuple(one for one in changes.changes if one.path != "long")
    for _ in range(2):
        assert await desk.settle(discarded=ChangeSet((some_hunks(long, 1), *others))) == ()
        assert content(folder).keys() == {"long", "other"}
        assert (folder / "long").read_text() == edited(3, 35, by="agent")
    assert told(await desk.changes()) == [("update", "long")]


async def test_one_file_can_be_applied_in_part_and_given_up_in_part(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, 35, by="agent")})
    change = only(await desk.changes())
    part = ChangeSet((some_hunks(change, 0),))
    desk.apply(part)
    await desk.settle(part, ChangeSet((some_hunks(change, 1),)))
    assert (await desk.changes()).changes == ()
    assert (folder / "long").read_text() == edited(3, by="agent")


async def test_modes_follow_what_was_applied_or_given_up(desk: Desk) -> None:
    folder = await desk.open()
    (folder / "long").chmod(0o755)
    (folder / "other").chmod(0o755)
    changes = await desk.changes()
    applied, given_up = (ChangeSet((one,)) for one in changes.changes)
    desk.apply(applied)
    await desk.settle(applied, given_up)
    assert (await desk.changes()).changes == ()
    assert [(folder / name).stat().st_mode & 0o777 for name in ("long", "other")] == [0o755, 0o644]


async def test_an_apply_that_was_taken_back_is_proposed_again(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, by="agent"), "new": "n\n"})
    (folder / "other").unlink()
    changes = await desk.changes()
    undo = desk.apply(changes).undo
    await desk.settle(changes)
    write(desk.workspace, {"long": edited(3, by="agent").replace("line 30", "line 30 person")})
    desk.apply(undo)
    for _ in range(2):
        await desk.settle(undo)
        again = await desk.changes()
        assert told(again) == [("update", "long"), ("create", "new"), ("delete", "other")]
        assert again.changes[0].old is not None
        assert again.changes[0].old.data == edited(30, by="person").encode()
        assert again.changes[0].new_data is not None
        assert b"line 3 agent" in again.changes[0].new_data
        assert b"line 30 person" in again.changes[0].new_data
    assert desk.place is not None
    assert (await desk.mode.refresh(desk.place)).taken == ()


async def test_what_the_agent_wrote_after_the_proposal_stays(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, by="agent"), "new": "n\n"})
    changes = await desk.changes()
    write(folder, {"long": edited(3, 30, by="agent"), "new": "n\nmore\n"})
    desk.apply(changes)
    await desk.settle(changes)
    assert told(await desk.changes()) == [("update", "long"), ("update", "new")]
    assert (folder / "long").read_text() == edited(3, 30, by="agent")


async def test_a_part_that_cannot_be_told_from_later_work_is_named_and_left(desk: Desk) -> None:
    folder = await desk.open()
    write(folder, {"long": edited(3, by="agent")})
    changes = await desk.changes()
    write(folder, {"long": edited(3, by="agent again")})
    assert await desk.settle(discarded=changes) == ("long",)
    assert (folder / "long").read_text() == edited(3, by="agent again")
    assert only(await desk.changes()).operation is ChangeOperation.UPDATE
