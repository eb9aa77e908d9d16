"""Working copies on bad days: odd files, too much of them, no room. The person's tree stays as it was."""

import asyncio
import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, StoreFailed
from portico.review.files.omitted_file import OmittedFile
from portico.review.working_copies import record as working_copy_records
from portico.review.working_copies.file_access import settled_stamp
from portico.review.working_copies.initial_copy import TreeFiller, WorkingCopyBounds
from portico.review.working_copies.lifecycle import WorkingCopies, WorkingCopy
from portico.review.working_copies.record import BaseContents
from tests.review.test_working_copies import told, working_copies
from tests.review.trees import content, repository, write


def reasons(place: WorkingCopy) -> dict[str, str]:
    return {each.path: each.reason for each in place.left_out}


@pytest.mark.skipif(sys.platform == "win32", reason="such files are not there")
async def test_pipes_are_left_out_and_read_only_files_are_kept_as_they_are(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"locked": "1\n", "tool": "2\n"})
    (workspace / "locked").chmod(0o444)
    (workspace / "tool").chmod(0o755)
    os.mkfifo(workspace / "pipe")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert content(place.folder).keys() == {"locked", "tool"}
    assert [(place.folder / name).stat().st_mode & 0o777 for name in ("locked", "tool")] == [0o444, 0o755]
    os.mkfifo(place.folder / "another")
    (place.folder / "tool").unlink()
    os.mkfifo(place.folder / "tool")
    survey = await mode.survey(place)
    assert survey.changes.changes == ()
    assert [(each.path, each.reason) for each in survey.kept_back] == [
        ("tool", "is a device, pipe or socket")
    ]
    (workspace / "locked").chmod(0o644)
    write(workspace, {"locked": "person\n"})
    assert (await mode.refresh(place)).taken == ("locked",)


async def test_links_stay_links_and_none_leads_an_agent_into_the_persons_tree(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    write(tmp_path, {"outside": "o\n"})
    write(workspace, {"real/file": "1\n"})
    (workspace / "inside").symlink_to("real")
    (workspace / "full").symlink_to(workspace / "real")
    (workspace / "out").symlink_to("../outside")
    before = content(workspace)
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert reasons(place) == {"out": "is a link out of the folder, and leads nowhere from here"}
    write(place.folder, {"full/file": "agent\n"})
    assert content(workspace) == before
    assert told(await mode.changes(place)) == [("update", "real/file")]
    (place.folder / "inside").unlink()
    (place.folder / "inside").symlink_to("/")
    (place.folder / "out").unlink()
    survey = await mode.survey(place)
    assert told(survey.changes) == [("update", "inside"), ("delete", "out"), ("update", "real/file")]
    assert survey.kept_back == ()
    (workspace / "full").unlink()
    (workspace / "full").symlink_to(workspace / "a.txt")
    assert (await mode.refresh(place)).taken == ("full",)
    assert (place.folder / "full").readlink() == place.folder / "a.txt"


async def test_a_folder_that_the_agent_made_a_link_is_not_written_through(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    write(workspace, {"d/x": "1\n"})
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    (place.folder / "d" / "x").unlink()
    (place.folder / "d").rmdir()
    (place.folder / "d").symlink_to(workspace / "d")
    write(workspace, {"d/new": "p\n", "d/x": "person\n"})
    before = content(workspace)
    assert (await mode.refresh(place)).left == ("d/new", "d/x")
    assert content(workspace) == before
    assert told(await mode.changes(place)) == [("create", "d"), ("delete", "d/x")]


async def test_a_large_file_is_there_for_commands_and_not_reviewed(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    (workspace / "large").write_bytes(bytes(3 << 20))
    mode = working_copies(tmp_path, bounds=WorkingCopyBounds(file_bytes=1 << 20))
    place = await mode.open(workspace, "s1")
    assert (place.folder / "large").stat().st_size == 3 << 20
    assert reasons(place) == {"large": "is there, but larger than 1 MB: not reviewed"}
    assert (await mode.survey(place)).kept_back == ()
    (place.folder / "other").write_bytes(bytes(2 << 20))
    (workspace / "large").write_bytes(b"1" * (2 << 20))
    assert (await mode.refresh(place)).taken == ("large",)
    assert (place.folder / "large").read_bytes() == b"1" * (2 << 20)
    (place.folder / "large").unlink()
    survey = await mode.survey(place)
    assert survey.changes.changes == ()
    assert [(each.path, each.reason) for each in survey.kept_back] == [
        ("large", "is larger than 1 MB"),
        ("other", "is larger than 1 MB"),
    ]


@pytest.mark.parametrize(
    "bounds",
    [WorkingCopyBounds(files=3), WorkingCopyBounds(total_bytes=10), WorkingCopyBounds(listing_seconds=0)],
)
async def test_a_huge_folder_is_refused_in_words_and_leaves_nothing(
    tmp_path: Path, bounds: WorkingCopyBounds
) -> None:
    workspace = tmp_path / "w"
    write(workspace, {f"f{number}": "text\n" for number in range(5)})
    mode = working_copies(tmp_path, bounds=bounds)
    with pytest.raises(InvalidInput, match="too large for a copy") as caught:
        await mode.open(workspace, "s1")
    assert "Open a smaller folder" in (caught.value.suggestion or "")
    assert await mode.find(workspace, "s1") is None
    assert [path.name for path in (tmp_path / "state" / "workplaces").iterdir() if any(path.iterdir())] == [
        "locks"
    ]


async def test_more_changes_than_a_proposal_holds_are_named_the_small_ones_first(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path, bounds=WorkingCopyBounds(changed_bytes=1000))
    place = await mode.open(workspace, "s1")
    write(place.folder, {"big": "x" * 900, "small": "y" * 200})
    survey = await mode.survey(place)
    assert told(survey.changes) == [("create", "small")]
    assert [each.path for each in survey.kept_back] == ["big"]


async def test_names_of_any_case_form_and_bytes_are_kept(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    odd = os.fsdecode(b"bytes-\xff")
    write(
        workspace,
        {"Name": "1\n", "name": "2\n", "\u00fc": "nfc\n", "u\u0308": "nfd\n", "a\nb\tc": "x\n", odd: "y\n"},
    )
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert content(place.folder) == content(workspace)
    write(workspace, {odd: "person\n"})
    assert (await mode.refresh(place)).taken == ("bytes-\\udcff",)
    write(place.folder, {odd: "agent\n", "Name": "agent\n", "u\u0308": "agent\n"})
    survey = await mode.survey(place)
    assert told(survey.changes) == [("update", "Name"), ("update", "u\u0308")]
    assert [(each.path, each.reason) for each in survey.kept_back] == [
        ("bytes-\\udcff", "has a name that is not valid text")
    ]


async def test_a_file_that_becomes_a_folder_on_either_side_is_followed_or_left(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w", swap="1\n", own="2\n")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    (workspace / "swap").unlink()
    write(workspace, {"swap/inner": "p\n"})
    (place.folder / "own").unlink()
    write(place.folder, {"own/inner": "a\n"})
    assert (await mode.refresh(place)).taken == ("swap", "swap/inner")
    assert told(await mode.changes(place)) == [("delete", "own"), ("create", "own/inner")]
    write(workspace, {"own": "person\n"})
    assert (await mode.refresh(place)).left == ("own",)
    assert (place.folder / "own" / "inner").read_text() == "a\n"
    (workspace / "own").unlink()
    write(workspace, {"own/inner": "a\n"})
    assert (await mode.refresh(place)).left == ()
    assert (await mode.changes(place)).changes == ()


def test_a_file_is_only_taken_as_known_once_its_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    second = 1_000_000_000
    fine, coarse = (1, 2, 5 * second + 7, 5 * second + 7), (1, 2, 5 * second, 5 * second)
    for now, known in (
        (5 * second + 9, (None, None)),
        (6 * second, (fine, None)),
        (8 * second, (fine, coarse)),
    ):
        monkeypatch.setattr(time, "time_ns", lambda now=now: now)
        assert (settled_stamp(fine), settled_stamp(coarse)) == known


async def test_a_tree_that_is_suddenly_empty_is_not_taken_over(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"a": "1\n", "b": "2\n"})
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    for name in ("a", "b"):
        (workspace / name).unlink()
    assert (await mode.refresh(place)).left == ("a", "b")
    assert (place.folder / "a").read_text() == "1\n"


async def test_a_state_folder_inside_the_workspace_is_not_copied_into_itself(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "1\n"})
    mode = working_copies(tmp_path)
    place = await mode.open(tmp_path, "s1")
    assert content(place.folder) == {"a.txt": ("file", b"1\n")}
    again = await mode.open(tmp_path, "s2")
    assert content(again.folder) == {"a.txt": ("file", b"1\n")}


@pytest.mark.parametrize("name", ["../up", "", "a/b", ".hidden"])
async def test_names_that_would_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        await working_copies(tmp_path).open(repository(tmp_path / "w"), name)


async def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a folder"):
        await working_copies(tmp_path).open(tmp_path / "nowhere", "s1")


async def test_without_the_git_program_everything_but_what_tools_fill_is_work(tmp_path: Path) -> None:
    workspace = repository(tmp_path / "w")
    write(workspace, {"node_modules/x": "1\n", "cache/CACHEDIR.TAG": "t\n", ".env": "KEY=1\n", "d/e": "2\n"})
    mode = WorkingCopies(tmp_path / "state", {"PATH": str(tmp_path)})
    place = await mode.open(workspace, "s1")
    assert content(place.folder).keys() == {"a.txt", "cache/CACHEDIR.TAG", "d/e", "node_modules/x"}
    assert reasons(place) == {".env": "may hold secrets"}
    write(place.folder, {"d/e": "agent\n", "cache/y": "y\n", "node_modules/y": "y\n"})
    assert told(await mode.changes(place)) == [("update", "d/e")]
    write(workspace, {"a.txt": "person\n"})
    assert (await mode.refresh(place)).taken == ("a.txt",)


async def test_a_full_disk_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)

    def full(self: BaseContents) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(BaseContents, "keep", full)
        with pytest.raises(StoreFailed, match="No space left"):
            await mode.open(workspace, "s1")
    assert await mode.find(workspace, "s1") is None
    place = await mode.open(workspace, "s1")
    assert content(place.folder) == content(workspace)


async def test_an_open_that_is_given_up_leaves_no_copy_and_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    fill = TreeFiller.fill

    def slow(self: TreeFiller, paths: frozenset[str]) -> list[OmittedFile]:
        loop.call_soon_threadsafe(begun.set)
        assert self._stop.wait(20)
        return fill(self, paths)

    with monkeypatch.context() as patch:
        patch.setattr(TreeFiller, "fill", slow)
        opening = asyncio.create_task(mode.open(workspace, "s1"))
        await asyncio.wait_for(begun.wait(), 20)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert await mode.find(workspace, "s1") is None
    assert content((await mode.open(workspace, "s1")).folder) == content(workspace)


async def test_old_contents_go_once_they_are_most_of_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_copy_records, "_LITTER_BYTES", 1000)
    workspace = repository(tmp_path / "w")
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    write(place.folder, {"agents": "agent\n"})
    for number in range(30):
        write(workspace, {"a.txt": f"{number}\n" * 50})
        await mode.refresh(place)
    kept = [path for path in place.top.parents[1].iterdir() if path.name.startswith("contents")]
    assert len(kept) == 1
    assert kept[0].stat().st_size < 2000
    write(place.folder, {"a.txt": "agent\n"})
    change = (await mode.changes(place)).changes[0]
    assert change.old is not None
    assert change.old.data == b"29\n" * 50


def run_without_rights(test: str, folder: Path) -> None:
    """Run a test in a pytest of its own, which would delete the folders of earlier runs if it had no folder."""
    held = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    options = ("-q", "-n0", "-p", "no:cacheprovider", f"--basetemp={folder}")
    command = (*held, sys.executable, "-m", "pytest", *options, test)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
async def test_what_cannot_be_read_or_written_is_named_and_stands_in_nobodys_way(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    workspace = tmp_path / "w"
    write(workspace, {"d/x": "1\n", "locked": "s\n"})
    (workspace / "locked").chmod(0)
    if os.access(workspace / "locked", os.R_OK):
        # To the superuser nothing is locked, unless they give that right away.
        await asyncio.to_thread(run_without_rights, f"{__file__}::{request.node.name}", tmp_path / "alone")
        return
    mode = working_copies(tmp_path)
    place = await mode.open(workspace, "s1")
    assert reasons(place) == {"locked": "cannot be read (Permission denied)"}
    (place.folder / "d").chmod(0o555)
    write(workspace, {"d/x": "person\n", "d/new": "p\n"})
    assert (await mode.refresh(place)).left == ("d/new", "d/x")
    assert (await mode.changes(place)).changes == ()
    (place.folder / "d").chmod(0o755)
    assert (await mode.refresh(place)).taken == ("d/new", "d/x")
    (place.folder / "d").chmod(0o555)
    await mode.close(place)
    assert not list(place.top.parents[2].iterdir())
