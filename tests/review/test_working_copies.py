"""Working copies: an agent works in a tree of its own with the person's work in it, and theirs is not touched."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from portico.domain.errors import FileMissing, InvalidInput
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.lifecycle import WorkingCopies
from tests.review.trees import content, git, person_sees, repository, write


def working_copies(
    tmp_path: Path, *, linked: tuple[str, ...] = (), bounds: WorkingCopyBounds | None = None
) -> WorkingCopies:
    return WorkingCopies(tmp_path / "state" / "workplaces", os.environ, linked=linked, bounds=bounds)


def dirty(folder: Path) -> Path:
    workspace = repository(folder, a__txt="a\n", b__txt="b\n", c__txt="c\n", __gitignore="*.log\nout/\n")
    write(workspace, {"a.txt": "mine\n", "untracked": "u\n", ".env": "KEY=1\n"})
    (workspace / "b.txt").unlink()
    return workspace


def plain(folder: Path) -> Path:
    write(folder, {"a.txt": "mine\n", "c.txt": "c\n", "untracked": "u\n", ".gitignore": "*.log\nout/\n"})
    return folder


def told(changes: ChangeSet) -> list[tuple[str, str]]:
    return [(one.operation.value, one.path) for one in changes.changes]


def only(changes: ChangeSet) -> FileChange:
    assert len(changes.changes) == 1
    return changes.changes[0]


async def test_a_working_copy_has_the_persons_uncommitted_work_and_no_secrets(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    before = content(workspace), person_sees(workspace)
    place = await working_copies(tmp_path).open(workspace, "s1")
    assert content(place.folder) == {name: each for name, each in before[0].items() if name != ".env"}
    assert [(each.path, each.reason) for each in place.left_out] == [(".env", "may hold secrets")]
    assert (await working_copies(tmp_path).changes(place)).changes == ()
    assert (content(workspace), person_sees(workspace)) == before


async def test_git_works_in_a_working_copy_and_nothing_of_it_is_seen_in_the_persons_repository(
    tmp_path: Path,
) -> None:
    workspace = dirty(tmp_path / "w")
    write(workspace, {"c.txt": "staged\n"})
    git(workspace, "add", "c.txt")
    before = content(workspace), person_sees(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert git(place.folder, "status", "--porcelain=v1").split("\n") == [
        " M a.txt",
        " D b.txt",
        "M  c.txt",
        "?? untracked",
    ]
    assert git(place.folder, "log", "--format=%s") == "first"
    assert git(place.folder, "branch", "--show-current") == "main"
    git(place.folder, "add", "--all")
    git(place.folder, "commit", "--quiet", "--message=agent")
    write(place.folder, {"a.txt": "stashed\n"})
    git(place.folder, "stash")
    git(place.folder, "branch", "other")
    git(place.folder, "checkout", "--quiet", "other")
    assert (await mode.changes(place)).changes == ()
    await mode.close(place)
    assert (content(workspace), person_sees(workspace)) == before
    assert len(git(workspace, "worktree", "list").split("\n")) == 1
    git(workspace, "fsck", "--no-dangling")


@pytest.mark.parametrize("make", [dirty, plain], ids=["in git", "without git"])
async def test_every_kind_of_change_is_told_byte_for_byte(tmp_path: Path, make: object) -> None:
    workspace = dirty(tmp_path / "w") if make is dirty else plain(tmp_path / "w")
    (workspace / "windows.txt").write_bytes(b"a\r\nb")
    (workspace / "binary").write_bytes(bytes(range(256)))
    (workspace / "latin").write_bytes("ärger\n".encode("latin-1"))
    write(workspace, {"run": "#!/bin/sh\n", "gone/deep/file": "g\n", "old name": "moved\n" * 9})
    (workspace / "run").chmod(0o755)
    before = content(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    (place.folder / "windows.txt").write_bytes(b"a\r\nc")
    (place.folder / "binary").write_bytes(bytes(range(255, -1, -1)))
    (place.folder / "latin").write_bytes("ärger und öl".encode("latin-1"))
    (place.folder / "run").chmod(0o644)
    shutil.rmtree(place.folder / "gone")
    write(place.folder, {"new/file": "n\n", "x.log": "ignored\n", "out/x": "ignored\n", "empty": ""})
    (place.folder / "old name").rename(place.folder / "new" / "name")

    changes = await working_copies(tmp_path).changes(place)

    assert told(changes) == [
        ("update", "binary"),
        ("create", "empty"),
        ("delete", "gone/deep/file"),
        ("update", "latin"),
        ("create", "new/file"),
        ("rename", "new/name"),
        ("update", "run"),
        ("update", "windows.txt"),
    ]
    by_path = {one.path: one for one in changes.changes}
    assert by_path["windows.txt"].old is not None
    assert (by_path["windows.txt"].old.data, by_path["windows.txt"].new_data) == (b"a\r\nb", b"a\r\nc")
    assert by_path["latin"].new_data == "ärger und öl".encode("latin-1")
    assert (by_path["run"].old_mode, by_path["run"].new_mode) == (0o755, 0o644)
    assert by_path["new/name"].old_path == "old name"
    assert changes.emptied == ("gone", "gone/deep")
    assert content(workspace) == before


async def test_what_the_person_changes_meanwhile_is_taken_over_where_the_agent_did_not(
    tmp_path: Path,
) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    write(place.folder, {"a.txt": "agent\n", "agents": "new\n"})
    write(workspace, {"a.txt": "person\n", "c.txt": "person\n", "persons/new": "p\n", ".env": "KEY=2\n"})
    (workspace / "untracked").unlink()

    refreshed = await working_copies(tmp_path).refresh(place)

    assert refreshed.taken == ("c.txt", "persons/new", "untracked")
    assert refreshed.left == ("a.txt",)
    assert (place.folder / "c.txt").read_text() == "person\n"
    assert (place.folder / "persons" / "new").read_text() == "p\n"
    assert not (place.folder / "untracked").exists()
    changes = await mode.changes(place)
    assert told(changes) == [("update", "a.txt"), ("create", "agents")]
    assert changes.changes[0].old is not None
    assert changes.changes[0].old.data == b"mine\n"
    assert (await mode.refresh(place)).taken == ()


async def test_a_change_that_both_made_is_nobodys_change_any_more(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    for folder in (workspace, place.folder):
        write(folder, {"a.txt": "same\n", "same": "new\n"})
        (folder / "c.txt").unlink()
    assert (await mode.refresh(place)).left == ()
    assert (await mode.changes(place)).changes == ()


async def test_opening_again_gives_the_same_working_copy_and_another_process_finds_it(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    place = await working_copies(tmp_path).open(workspace, "s1")
    write(place.folder, {"a.txt": "agent\n"})
    assert await working_copies(tmp_path).open(workspace, "s1") == place
    assert await working_copies(tmp_path).find(workspace, "s1") == place
    assert await working_copies(tmp_path).find(workspace, "s2") is None
    assert (place.folder / "a.txt").read_text() == "agent\n"
    with pytest.raises(InvalidInput, match="works in proposal mode already"):
        await working_copies(tmp_path).open(workspace, "s1", mode="worktree")


async def test_sessions_work_side_by_side(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    one, two = await asyncio.gather(mode.open(workspace, "one"), mode.open(workspace, "two"))
    write(one.folder, {"a.txt": "one\n"})
    assert told(await mode.changes(one)) == [("update", "a.txt")]
    assert (await mode.changes(two)).changes == ()
    await mode.close(one)
    assert not one.top.exists()
    assert (two.folder / "a.txt").read_text() == "mine\n"


async def test_a_working_copy_deleted_by_hand_says_so_and_can_be_opened_again_or_closed(
    tmp_path: Path,
) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    shutil.rmtree(place.top)
    for call in (mode.changes, mode.refresh):
        with pytest.raises(FileMissing, match="is gone from"):
            await call(place)
    assert await mode.open(workspace, "s1") == place
    assert (place.folder / "a.txt").read_text() == "mine\n"
    shutil.rmtree(place.top.parent)
    await mode.close(place)
    await mode.close(place)
    assert await mode.find(workspace, "s1") is None


async def test_a_folder_of_a_repository_has_the_rest_around_it_and_proposes_only_its_own(
    tmp_path: Path,
) -> None:
    root = dirty(tmp_path / "w")
    write(root, {"part/code": "1\n", "other/code": "2\n"})
    mode = working_copies(tmp_path)
    place = await mode.open(root / "part", "s1")
    assert place.folder == place.top / "part"
    assert (place.top / "other" / "code").read_text() == "2\n"
    write(place.top, {"part/code": "agent\n", "other/code": "agent\n"})
    survey = await mode.survey(place)
    assert told(survey.changes) == [("update", "code")]
    assert [(each.path, each.reason) for each in survey.kept_back] == [
        ("../other/code", "is outside of the workspace")
    ]
    write(root, {"part/new": "p\n"})
    assert (await mode.refresh(place)).taken == ("new",)


async def test_worktree_mode_works_on_a_branch_and_its_changes_count_from_its_start(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    before = content(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1", mode="worktree")
    assert git(place.folder, "branch", "--show-current") == "portico/worktree-s1"
    write(place.folder, {"committed": "c\n"})
    git(place.folder, "add", "committed")
    git(place.folder, "commit", "--quiet", "--message=agent")
    write(place.folder, {"a.txt": "agent\n"})
    write(workspace, {"c.txt": "person\n"})
    assert (await mode.refresh(place)).taken == ()
    assert told(await working_copies(tmp_path).changes(place)) == [
        ("update", "a.txt"),
        ("create", "committed"),
    ]
    await mode.close(place)
    assert not place.top.exists()
    assert content(workspace) == before | {"c.txt": ("file", b"person\n")}
    assert len(git(workspace, "worktree", "list").split("\n")) == 1
    with pytest.raises(InvalidInput, match="works in the workspace itself"):
        await mode.open(workspace, "s2", mode="direct")


async def test_an_unsaved_buffer_is_taken_over_until_the_person_saves(tmp_path: Path) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert await mode.adopt(place, "a.txt", b"unsaved\n")
    assert (place.folder / "a.txt").read_text() == "unsaved\n"
    assert (await mode.changes(place)).changes == ()
    assert (await mode.refresh(place)).taken == ()
    write(place.folder, {"c.txt": "agent\n"})
    assert not await mode.adopt(place, "c.txt", b"unsaved\n")
    assert only(await mode.changes(place)).operation is ChangeOperation.UPDATE
    write(workspace, {"a.txt": "saved\n"})
    assert (await mode.refresh(place)).taken == ("a.txt",)


async def test_what_the_person_commits_or_checks_out_meanwhile_is_history_for_the_agent_too(
    tmp_path: Path,
) -> None:
    workspace = dirty(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    write(place.folder, {"c.txt": "agent\n"})
    git(workspace, "checkout", "--quiet", "-b", "topic")
    git(workspace, "add", "a.txt", "b.txt")
    git(workspace, "commit", "--quiet", "--message=second")
    await mode.refresh(place)
    assert git(place.folder, "log", "--format=%s", "topic").split("\n") == ["second", "first"]
    assert git(place.folder, "status", "--porcelain=v1").split("\n") == [" M c.txt", "?? untracked"]
    git(place.folder, "commit", "--quiet", "-am", "agent")
    git(workspace, "checkout", "--quiet", "main")
    await mode.refresh(place)
    assert git(place.folder, "log", "--format=%s").split("\n") == ["agent", "second", "first"]
