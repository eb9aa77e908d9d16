"""Checkpoints: whatever happened to a working tree, it can be restored, and taking a checkpoint is not noticeable."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError, SessionBusy
from portico.review.checkpoints.checkpoint import Moment, Retention
from portico.review.checkpoints.held_files import STAGING_PREFIX, SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.git.tree_changes import TreeChange, TreeOperation
from portico.testing.clock import ManualClock
from tests.review.trees import checkpoints, content, git, person_sees, repository, write
from tests.support.waiting import wait_until

VARIETY = {
    "a.txt": "one\ntwo\n",
    "no newline": "end",
    "windows.txt": "a\r\nb\r\n",
    "deep/er/file.py": "pass\n",
    "empty": "",
    "swap/inner": "a folder that becomes a file\n",
    "swapped": "a file that becomes a folder\n",
}


def lay_out(folder: Path) -> None:
    write(folder, VARIETY)
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / os.fsdecode(b"bytes-\xff")).write_bytes(b"a name that is no text")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    (folder / "dangling").symlink_to("/nowhere/at/all")


def wreck(folder: Path) -> None:
    write(folder, {"a.txt": "one\nTWO\nthree\n", "fresh/new.txt": "new\n", "windows.txt": "a\nb\n"})
    for name in ("no newline", "deep/er/file.py", "swap/inner", "swapped", "link", "dangling"):
        (folder / name).unlink()
    (folder / "swap").rmdir()
    write(folder, {"swap": "now a file\n", "swapped/inner": "now a folder\n"})
    (folder / "run").chmod(0o644)
    (folder / "link").write_text("now a file\n")
    (folder / "deep" / "er").rmdir()
    (folder / "deep" / "er").symlink_to(folder.parent)


@pytest.mark.parametrize("kind", ["in git", "without git"])
async def test_going_back_brings_every_byte_link_and_mode_back(tmp_path: Path, kind: str) -> None:
    workspace = repository(tmp_path / "w") if kind == "in git" else tmp_path / "w"
    workspace.mkdir(exist_ok=True)
    lay_out(workspace)
    before = content(workspace)
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "before the turn")
    wreck(workspace)
    wrecked = content(workspace)
    assert wrecked != before

    restored = await store.restore(workspace, first.id)

    assert content(workspace) == before
    assert not list(workspace.glob(f"{STAGING_PREFIX}*"))
    await store.restore(workspace, restored.kept.id)
    assert content(workspace) == wrecked


async def test_many_files_are_kept_at_once_empty_ones_and_links_among_them(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    lay_out(folder)
    write(folder, {f"many/{number}": f"{number}\n" for number in range(700)})
    before = content(folder)
    kept = checkpoints(tmp_path)
    begin = await kept.create(folder, "many")
    write(folder, {f"many/{number}": "" for number in range(700)})
    await kept.restore(folder, begin.id)
    assert content(folder) == before


async def test_the_persons_index_head_stash_and_refs_are_as_they_were(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    write(workspace, {"a.txt": "staged\n"})
    git(workspace, "add", "a.txt")
    write(workspace, {"a.txt": "staged, then changed\n", "untracked": "u\n"})
    before = person_sees(workspace)
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    assert person_sees(workspace) == before
    write(workspace, {"a.txt": "the agent was here\n"})
    (workspace / "untracked").unlink()
    await store.restore(workspace, first.id)
    assert person_sees(workspace) == before


async def test_a_difference_names_each_file_with_its_operation_and_counts(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "1\n2\n", "gone": "x\n"})
    (workspace / "binary").write_bytes(b"\0\1")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    write(workspace, {"a": "1\nTWO\n3\n", "new": "n\n"})
    (workspace / "binary").write_bytes(b"\0\2")
    (workspace / "gone").unlink()
    assert await store.diff(workspace, first.id) == (
        TreeChange("a", TreeOperation.UPDATE, 2, 1),
        TreeChange("binary", TreeOperation.UPDATE, None, None),
        TreeChange("gone", TreeOperation.DELETE, 0, 1),
        TreeChange("new", TreeOperation.CREATE, 1, 0),
    )
    assert await store.read(workspace, first.id, "a") == b"1\n2\n"
    assert await store.read(workspace, first.id, "new") is None


async def test_what_the_person_changed_after_the_turn_is_told_apart_and_can_be_read(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"agent": "a\n", "mine": "m\n", "both": "b\n"})
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "before turn 1")
    write(workspace, {"agent": "agent\n", "both": "agent\n"})
    after = await store.create(workspace, "after turn 1", Moment.AFTER_TURN)
    write(workspace, {"mine": "person\n", "both": "agent\nperson\n"})

    restored = await store.restore(workspace, first.id)

    assert [each.path for each in restored.changes] == ["both", "mine"]
    assert [each.path for each in restored.undone] == ["agent"]
    assert restored.own == ((after.id, restored.kept.id),)
    assert await store.read(workspace, restored.kept.id, "mine") == b"person\n"
    assert content(workspace)["mine"] == ("file", b"m\n")


async def test_ignored_and_secret_and_huge_files_are_left_alone(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a__txt="a\n", __gitignore="build/\n")
    write(workspace, {".gitignore": "build/\n", "build/out": "1", ".env": "KEY=1", "huge": "x" * 2000})
    store = checkpoints(tmp_path, SnapshotBounds(file_bytes=1000))
    first = await store.create(workspace, "start")
    assert [(each.path, each.reason) for each in first.left_out] == [
        (".env", "may hold secrets"),
        ("huge", "larger than 0 MB"),
    ]
    write(workspace, {"build/out": "2", ".env": "KEY=2", "huge": "y" * 3000, "a.txt": "changed\n"})
    await store.restore(workspace, first.id)
    after = content(workspace)
    assert (after["build/out"][1], after[".env"][1], after["a.txt"][1]) == (b"2", b"KEY=2", b"a\n")
    assert after["huge"] == ("file", b"y" * 3000)


async def test_a_file_that_grows_beyond_the_bound_is_still_kept_before_going_back(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"log": "short"})
    store = checkpoints(tmp_path, SnapshotBounds(file_bytes=1000))
    first = await store.create(workspace, "start")
    write(workspace, {"log": "x" * 5000})
    restored = await store.restore(workspace, first.id)
    assert content(workspace)["log"] == ("file", b"short")
    assert await store.read(workspace, restored.kept.id, "log") == b"x" * 5000


async def test_a_file_that_no_checkpoint_holds_is_never_overwritten(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"data": "short", "other": "1"})
    store = checkpoints(tmp_path, SnapshotBounds(file_bytes=1000))
    first = await store.create(workspace, "start")
    (workspace / "data").unlink()
    await store.create(workspace, "without it")
    write(workspace, {"data": "x" * 5000, "other": "2"})
    before = content(workspace)
    with pytest.raises(InvalidInput, match="data exists, and no checkpoint holds it"):
        await store.restore(workspace, first.id)
    assert content(workspace) == before


async def test_tracked_files_that_are_ignored_are_kept_too(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a__txt="a\n")
    write(workspace, {".gitignore": "*.gen\n", "code.gen": "1\n"})
    git(workspace, "add", "--force", "code.gen")
    git(workspace, "commit", "--quiet", "--message=generated")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    write(workspace, {"code.gen": "2\n"})
    await store.restore(workspace, first.id)
    assert content(workspace)["code.gen"] == ("file", b"1\n")


async def test_line_endings_and_filters_of_the_repository_change_no_byte(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", a__txt="a\n")
    write(workspace, {".gitattributes": "* text eol=crlf ident working-tree-encoding=UTF-16\n"})
    (workspace / "mixed").write_bytes(b"$Id$\r\none\nutf-8 \xc3\xa9\n")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    (workspace / "mixed").unlink()
    await store.restore(workspace, first.id)
    assert content(workspace)["mixed"] == ("file", b"$Id$\r\none\nutf-8 \xc3\xa9\n")


async def test_files_in_a_repository_inside_the_workspace_come_back_too(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", code="1\n")
    workspace = repository(tmp_path / "w")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    repository(workspace / "loose", inner="1\n")
    store = checkpoints(tmp_path)
    before = content(workspace)
    first = await store.create(workspace, "start")
    write(workspace, {"sub/code": "2\n", "loose/inner": "2\n", "loose/more": "3\n"})
    await store.restore(workspace, first.id)
    assert content(workspace) == before
    assert git(workspace / "sub", "status", "--porcelain") == ""


async def test_a_workspace_in_a_folder_of_a_repository_follows_what_the_repository_ignores(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "w")
    write(root, {".gitignore": "part/cache/\n", "part/code": "1\n", "part/cache/x": "1\n"})
    store = checkpoints(tmp_path)
    first = await store.create(root / "part", "start")
    write(root, {"part/code": "2\n", "part/cache/x": "2\n", "a.txt": "outside\n"})
    await store.restore(root / "part", first.id)
    after = content(root)
    assert (after["part/code"][1], after["part/cache/x"][1]) == (b"1\n", b"2\n")
    assert after["a.txt"][1] == b"outside\n"


async def test_hooks_and_monitors_of_the_repository_are_not_run(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        git(workspace, "config", setting, str(trap))
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    write(workspace, {"a.txt": "changed\n"})
    await store.diff(workspace, first.id)
    await store.restore(workspace, first.id)
    assert not (tmp_path / "sprung").exists()


async def test_old_checkpoints_go_and_the_newest_stays(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "0"})
    clock = ManualClock()
    store = Checkpoints(
        tmp_path / "state", os.environ, clock, retention=Retention(count=3, milliseconds=10_000)
    )
    for number in range(5):
        write(workspace, {"a": str(number)})
        await store.create(workspace, f"turn {number}")
    assert [each.label for each in await store.list(workspace)] == ["turn 4", "turn 3", "turn 2"]
    await clock.advance(60)
    newest = await store.create(workspace, "much later")
    assert [each.id for each in await store.list(workspace)] == [newest.id]


async def test_a_change_of_the_same_size_in_the_same_second_is_seen_in_the_next(tmp_path: Path) -> None:
    """Git compares whole seconds, and knows which of its entries it must not believe."""
    workspace = tmp_path / "w"
    store = checkpoints(tmp_path)
    write(workspace, {"b": "1"})
    await store.create(workspace, "the store is there")
    for _ in range(10):
        wait_until(lambda: time.time() % 1 < 0.1, "a second began")
        write(workspace, {"a": "1"})
        second = int((workspace / "a").stat().st_mtime)
        await store.create(workspace, "start")
        write(workspace, {"a": "2"})
        if int((workspace / "a").stat().st_mtime) == second:
            break
    wait_until(lambda: time.time() >= second + 1, "the next second began")
    newest = await store.create(workspace, "next")
    assert await store.read(workspace, newest.id, "a") == b"2"


async def test_the_start_of_a_branch_stays_until_it_is_released(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "0"})
    store = Checkpoints(tmp_path / "state", os.environ, ManualClock(), retention=Retention(count=1))
    start = await store.create(workspace, "start", Moment.BEFORE_BRANCH)
    await store.create(workspace, "turn 1")
    assert [each.label for each in await store.list(workspace)] == ["turn 1", "start"]
    await store.release(workspace, start.id)
    await store.create(workspace, "turn 2")
    assert [each.label for each in await store.list(workspace)] == ["turn 2"]


async def test_files_that_keep_changing_are_not_overwritten(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "0", "busy": "0"})
    first = await checkpoints(tmp_path).create(workspace, "start")
    write(workspace, {"a": "1"})

    class BusyClock(ManualClock):
        """Asked between the keeping and the putting back, and writes just then."""

        def now_ms(self) -> int:
            with (workspace / "busy").open("a") as file:
                file.write("x")
            return super().now_ms()

    store = Checkpoints(tmp_path / "state", os.environ, BusyClock())
    with pytest.raises(SessionBusy, match="Files keep changing"):
        await store.restore(workspace, first.id)
    assert content(workspace) == {"a": ("file", b"1"), "busy": ("file", b"0xxx")}


async def test_what_is_written_while_files_are_put_in_place_is_kept(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "0", "b": "0"})
    first = await checkpoints(tmp_path).create(workspace, "start")
    write(workspace, {"a": "1", "b": "1", "new": "1"})
    late = {"put b": "b", "remove new": "new"}

    def save(what: str) -> None:
        """An editor that saves at the last moment, once."""
        if (name := late.pop(what, None)) is not None:
            write(workspace, {name: "typed at the last moment"})

    store = Checkpoints(tmp_path / "state", os.environ, ManualClock(), step=save)
    restored = await store.restore(workspace, first.id)
    assert not late
    assert content(workspace) == {"a": ("file", b"0"), "b": ("file", b"0")}
    for name in ("b", "new"):
        assert await store.read(workspace, restored.kept.id, name) == b"typed at the last moment"
        assert name in [each.path for each in restored.changes], "It comes back as the person's own."


async def test_what_is_written_again_and_again_is_never_overwritten(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "0", "b": "0"})
    first = await checkpoints(tmp_path).create(workspace, "start")
    write(workspace, {"a": "1", "b": "1"})

    def save(what: str) -> None:
        if what == "put b":
            with (workspace / "b").open("a") as file:
                file.write("x")

    store = Checkpoints(tmp_path / "state", os.environ, ManualClock(), step=save)
    with pytest.raises(SessionBusy, match="Files keep changing"):
        await store.restore(workspace, first.id)
    assert content(workspace) == {"a": ("file", b"1"), "b": ("file", b"1xxx")}


async def test_a_link_that_points_out_is_not_written_through(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", __gitignore="out\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    write(workspace, {"out/file": "1\n"})
    git(workspace, "add", "--force", "out/file")
    store = checkpoints(tmp_path)
    first = await store.create(workspace, "start")
    (workspace / "out" / "file").unlink()
    (workspace / "out").rmdir()
    (workspace / "out").symlink_to(outside)
    with pytest.raises(PermissionDenied, match="out is a link"):
        await store.restore(workspace, first.id)
    assert list(outside.iterdir()) == []
    assert (workspace / "out").is_symlink()


async def test_an_unknown_checkpoint_says_how_to_find_one(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with pytest.raises(InvalidInput, match="Unknown checkpoint nonsense"):
        await checkpoints(tmp_path).restore(tmp_path / "w", "nonsense")


async def test_two_at_once_take_turns(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {f"f{number}": str(number) for number in range(50)})
    stores = [checkpoints(tmp_path), checkpoints(tmp_path)]
    made = await asyncio.gather(*(stores[n % 2].create(workspace, f"number {n}") for n in range(6)))
    assert {each.id for each in await stores[0].list(workspace)} == {each.id for each in made}


async def test_a_disk_that_fills_up_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    lay_out(workspace)
    first = await checkpoints(tmp_path).create(workspace, "start")
    wreck(workspace)
    wrecked = content(workspace)
    steps: list[str] = []
    recording = Checkpoints(tmp_path / "state", os.environ, ManualClock(), step=steps.append)
    restored = await recording.restore(workspace, first.id)
    await recording.restore(workspace, restored.kept.id)
    count = len(steps) // 2
    for number in range(count):
        left = iter(range(number))

        def full(what: str, left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise OSError(28, "No space left on device")

        failing = Checkpoints(tmp_path / "state", os.environ, ManualClock(), step=full)
        with pytest.raises(PorticoError, match="everything is as it was"):
            await failing.restore(workspace, first.id)
        assert content(workspace) == wrecked
        assert not list(workspace.glob(f"{STAGING_PREFIX}*"))
