"""Applying a reviewed change: all of it arrives, it can be taken back, and the person's own work stays."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings

from portico.review.files.atomic_apply import AppliedChanges, Applier, ConflictedChanges
from portico.review.files.disk import Disk
from portico.review.text.change_set import (
    ChangeOperation,
    ChangeSet,
    Conflict,
    FileChange,
    FileContent,
    MadeFolder,
    with_contents,
)
from tests.review.folders import Files, change, fill, seen, trees_and_edits

BASE = b"".join(b"line %d\n" % number for number in range(20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def applier(tmp_path: Path) -> Applier:
    return Applier(tmp_path / "state")


@settings(max_examples=150)
@given(case=trees_and_edits())
def test_apply_then_undo_then_redo_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Files, ChangeSet, Files]
) -> None:
    files, changes, expected = case
    home = tmp_path_factory.mktemp("apply")
    fill(home / "work", files)
    applier = Applier(home / "state")
    before = seen(home / "work")
    applied = applier.apply(home / "work", changes)
    assert isinstance(applied, AppliedChanges)
    after = seen(home / "work")
    assert {path: one for path, one in after.items() if one[0] is not None} == expected
    undone = applier.apply(home / "work", applied.undo)
    assert isinstance(undone, AppliedChanges)
    assert seen(home / "work") == before
    applier.apply(home / "work", undone.undo)
    assert seen(home / "work") == after
    assert [one.name for one in (home / "state").iterdir()] == ["apply.lock"]
    shutil.rmtree(home)


def test_a_change_apart_from_the_persons_own_is_merged_and_undo_leaves_theirs(
    applier: Applier, folder: Path
) -> None:
    theirs = BASE.replace(b"line 3\n", b"mine\n")
    (folder / "a").write_bytes(theirs)
    applied = applier.apply(folder, ChangeSet((change("a", BASE, BASE.replace(b"line 15", b"agent")),)))
    assert isinstance(applied, AppliedChanges)
    assert applied.merged == ("a",)
    assert (folder / "a").read_bytes() == theirs.replace(b"line 15", b"agent")
    (folder / "a").write_bytes((folder / "a").read_bytes() + b"later\n")
    applier.apply(folder, applied.undo)
    assert (folder / "a").read_bytes() == theirs + b"later\n"


def test_one_conflict_holds_back_the_whole_set_and_shows_both_sides(applier: Applier, folder: Path) -> None:
    (folder / "a").write_bytes(b"mine\n")
    changes = ChangeSet((change("new", None, b"x"), change("a", b"base\n", b"agent\n")))
    before = seen(folder)
    outcome = applier.apply(folder, changes)
    assert isinstance(outcome, ConflictedChanges)
    assert outcome.changes[0].conflicts == (Conflict(b"base\n", b"mine\n", b"agent\n"),)
    assert seen(folder) == before


@pytest.mark.parametrize(
    ("there", "proposed"),
    [
        (b"other", change("a", None, b"new")),
        (None, change("a", b"old", b"new")),
        (b"other", change("a", b"old", None)),
        (b"\0other", change("a", b"\0old", b"\0new")),
    ],
    ids=["created by both", "deleted meanwhile", "changed before the delete", "binary"],
)
def test_what_cannot_be_merged_is_a_conflict_and_never_overwritten(
    applier: Applier, folder: Path, there: bytes | None, proposed: FileChange
) -> None:
    if there is not None:
        (folder / "a").write_bytes(there)
    before = seen(folder)
    assert isinstance(applier.apply(folder, ChangeSet((proposed,))), ConflictedChanges)
    assert seen(folder) == before


def test_a_rename_onto_a_file_of_the_person_is_a_conflict(applier: Applier, folder: Path) -> None:
    fill(folder, {"a": (b"x", 0o644), "b": (b"mine", 0o644)})
    content = FileContent.of(b"x")
    rename = FileChange(path="b", old_path="a", operation=ChangeOperation.RENAME, old=content, new=content)
    assert isinstance(applier.apply(folder, ChangeSet((rename,))), ConflictedChanges)


def test_files_may_change_places(applier: Applier, folder: Path) -> None:
    fill(folder, {"a": (b"1", 0o644), "b": (b"2", 0o755)})
    one, two = FileContent.of(b"1"), FileContent.of(b"2")
    swap = (
        FileChange(path="b", old_path="a", operation=ChangeOperation.RENAME, old=one, new=one),
        FileChange(path="a", old_path="b", operation=ChangeOperation.RENAME, old=two, new=two),
    )
    applied = applier.apply(folder, ChangeSet(swap))
    assert seen(folder) == {"a": (b"2", 0o755), "b": (b"1", 0o644)}
    assert isinstance(applied, AppliedChanges)
    applier.apply(folder, applied.undo)
    assert seen(folder) == {"a": (b"1", 0o644), "b": (b"2", 0o755)}


def test_a_file_may_become_a_folder_and_back(applier: Applier, folder: Path) -> None:
    (folder / "a").write_bytes(b"file")
    before = seen(folder)
    applied = applier.apply(folder, ChangeSet((change("a", b"file", None), change("a/b", None, b"inner"))))
    assert (folder / "a" / "b").read_bytes() == b"inner"
    assert isinstance(applied, AppliedChanges)
    applier.apply(folder, applied.undo)
    assert seen(folder) == before


def test_an_empty_folder_can_be_asked_for_and_contents_may_be_kept_elsewhere(
    applier: Applier, folder: Path
) -> None:
    content = FileContent.of(b"data")
    stored = ChangeSet(
        (
            FileChange(
                path="a", operation=ChangeOperation.CREATE, new=FileContent(content.digest, content.size)
            ),
        ),
        made=(MadeFolder("empty", 0o700),),
    )
    applier.apply(folder, with_contents(stored, {content.digest: b"data"}.__getitem__))
    assert (folder / "a").read_bytes() == b"data"
    assert (folder / "empty").stat().st_mode & 0o777 == 0o700


def test_a_file_written_in_the_last_moment_is_merged_or_kept(tmp_path: Path, folder: Path) -> None:
    """The person saves after the plan was made and before the file is exchanged."""

    class Hasty(Disk):
        saved = False

        def write_new(
            self,
            path: Path,
            data: bytes,
            mode: int | None,
            owner: tuple[int, int] | None = None,
            like: Path | None = None,
        ) -> None:
            super().write_new(path, data, mode, owner, like)
            if path.suffix == ".new" and not self.saved:
                self.saved = True
                (folder / "a").write_bytes(BASE + b"saved\n")

    (folder / "a").write_bytes(BASE)
    applied = Applier(tmp_path / "state", disk=Hasty()).apply(
        folder, ChangeSet((change("a", BASE, b"agent\n" + BASE),))
    )
    assert isinstance(applied, AppliedChanges)
    assert seen(folder) == {"a": (b"agent\n" + BASE + b"saved\n", 0o644)}
