"""Paths that a change must not touch: each is refused with a sentence, and the folder stays as it was."""

import os
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError
from portico.review.files.apply_plan import ApplyLimits
from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.files.disk import Disk
from portico.review.text.change_set import LINK_MODE, ChangeOperation, ChangeSet, FileChange, FileContent
from tests.review.folders import change, fill, seen

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and modes are POSIX")


class FoldingDisk(Disk):
    """A disk of a system on which names that differ only in case or Unicode form are one."""

    def folds_names(self, folder: Path) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path / "work", {"there": (b"old", 0o644), "d/inner": (b"x", 0o644), ".git/config": (b"", 0o644)})
    fill(tmp_path / "outside", {"file": (b"not yours", 0o644)})
    (tmp_path / "work" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "work" / "out_file").symlink_to(tmp_path / "outside" / "file")
    (tmp_path / "work" / "loop").symlink_to("loop")
    (tmp_path / "work" / "link").symlink_to("there")
    return tmp_path / "work"


def refused(
    folder: Path, *changes: FileChange, disk: Disk | None = None, limits: ApplyLimits | None = None
) -> PorticoError:
    """Apply beside a change that is fine: neither may happen."""
    before = seen(folder.parent)
    with pytest.raises(PorticoError) as caught:
        Applier(folder.parent.parent / f"{folder.parent.name}-state", disk=disk, limits=limits).apply(
            folder, ChangeSet((change("fine", None, b"fine"), *changes))
        )
    assert seen(folder.parent) == before
    return caught.value


@pytest.mark.parametrize(
    "path", ["../outside/new", "d/../../outside/new", "/etc/new", "out/new", "out/file", "out_file", "d/.."]
)
def test_a_path_that_leads_out_is_refused(folder: Path, path: str) -> None:
    assert isinstance(refused(folder, change(path, None, b"bad")), PermissionDenied)


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/pre-commit", "d/.git", "git~1/config", ".git"])
def test_what_belongs_to_git_is_refused(folder: Path, path: str) -> None:
    assert isinstance(refused(folder, change(path, None, b"bad")), PermissionDenied)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", ".", "d/", "d", "loop", "there/below"])
def test_a_path_that_can_be_no_file_is_refused(folder: Path, path: str) -> None:
    refused(folder, change(path, None, b"bad"))


def test_a_pipe_or_a_device_is_refused_without_waiting_for_it(folder: Path) -> None:
    os.mkfifo(folder.parent / "pipe")
    (folder / "led").symlink_to(folder / "pipe")
    (folder.parent / "pipe").rename(folder / "pipe")
    for path in ("pipe", "led"):
        before = stat.S_IFMT((folder / "pipe").lstat().st_mode)
        with pytest.raises(InvalidInput, match="device, pipe"):
            Applier(folder.parent / "state").apply(folder, ChangeSet((change(path, None, b"bad"),)))
        assert stat.S_IFMT((folder / "pipe").lstat().st_mode) == before


def test_a_link_that_stays_inside_is_written_through_and_stays_a_link(folder: Path) -> None:
    applied = Applier(folder.parent / "state").apply(folder, ChangeSet((change("link", b"old", b"new"),)))
    assert isinstance(applied, AppliedChanges)
    assert (folder / "link").is_symlink()
    assert (folder / "there").read_bytes() == b"new"


def test_a_path_through_links_that_go_in_a_circle_is_refused(folder: Path) -> None:
    assert "circle" in refused(folder, change("loop/new", None, b"bad")).message


def test_a_file_takes_the_place_of_a_link_that_goes_in_a_circle(folder: Path) -> None:
    gone = FileChange(
        path="loop", operation=ChangeOperation.DELETE, old=FileContent.of(b"loop"), old_mode=LINK_MODE
    )
    state = folder.parent.parent / f"{folder.parent.name}-state"
    applied = Applier(state).apply(folder, ChangeSet((gone, change("loop/new", None, b"good"))))
    assert isinstance(applied, AppliedChanges)
    assert (folder / "loop" / "new").read_bytes() == b"good"


def test_a_link_is_not_removed_in_place_of_a_file(folder: Path) -> None:
    assert "symbolic link" in refused(folder, change("link", b"old", None)).message


def test_one_file_under_two_names_is_refused(folder: Path) -> None:
    refused(folder, change("link", b"old", b"1"), change("there", b"old", b"2"))
    refused(folder, change("there", b"old", b"1"), change("there", b"old", b"2"))


@pytest.mark.parametrize("path", ["THERE", "D/Inner"])
def test_another_case_of_a_name_is_refused_where_that_is_one_file(folder: Path, path: str) -> None:
    if path != "THERE":
        path = "d/INNER"
    assert "case or Unicode form" in refused(folder, change(path, None, b"bad"), disk=FoldingDisk()).message


def test_another_unicode_form_of_a_name_is_refused_where_that_is_one_file(folder: Path) -> None:
    (folder / unicodedata.normalize("NFD", "süß")).write_bytes(b"x")
    refused(folder, change(unicodedata.normalize("NFC", "süß"), None, b"bad"), disk=FoldingDisk())
    refused(folder, change("NEW", None, b"1"), change("new", None, b"2"), disk=FoldingDisk())


def test_a_rename_to_another_case_is_possible_everywhere(folder: Path) -> None:
    content = FileContent.of(b"old")
    rename = FileChange(
        path="THERE", old_path="there", operation=ChangeOperation.RENAME, old=content, new=content
    )
    applied = Applier(folder.parent / "state", disk=FoldingDisk()).apply(folder, ChangeSet((rename,)))
    assert isinstance(applied, AppliedChanges)
    assert (folder / "THERE").read_bytes() == b"old"
    assert not (folder / "there").exists()


def test_names_in_two_cases_are_two_files_where_the_system_says_so(folder: Path) -> None:
    applied = Applier(folder.parent / "state").apply(folder, ChangeSet((change("THERE", None, b"new"),)))
    assert isinstance(applied, AppliedChanges)
    assert (folder / "there").read_bytes() == b"old"


def test_a_file_of_100_megabytes_is_refused_with_a_way_on(folder: Path) -> None:
    large = FileContent("0" * 40, 100_000_000)
    error = refused(folder, FileChange(path="large", operation=ChangeOperation.CREATE, new=large))
    assert "large is too large" in error.message
    assert error.suggestion
    assert (
        "as a whole" in refused(folder, change("a", None, b"xx"), limits=ApplyLimits(total_bytes=5)).message
    )


def test_a_large_file_that_is_there_is_not_read(folder: Path) -> None:
    with (folder / "there").open("r+b") as file:
        file.truncate(100_000_000)
    assert "too large" in refused(folder, change("there", b"old", b"new")).message
    (folder / "there").unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="needs another user to be had without a password")
def test_a_read_only_folder_is_refused_before_anything_is_written(folder: Path) -> None:
    (folder / "d").chmod(0o555)
    if os.geteuid() != 0:
        assert "read-only" in refused(folder, change("d/inner", b"x", b"y")).message
        return
    # The superuser may write everywhere, so another user has to try.
    program = (
        "import os, sys; from pathlib import Path; from portico.review.files.atomic_apply import Applier;"
        "from portico.review.text.change_set import ChangeSet; from tests.review.folders import change;"
        "from portico.domain.errors import PermissionDenied\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: Applier(Path(sys.argv[2])).apply(Path(sys.argv[1]), ChangeSet((change('d/inner', b'x', b'y'),)))\n"
        "except PermissionDenied as error: print(error.message)"
    )
    for place in (folder, *folder.parents):
        place.chmod(place.stat().st_mode | 0o055)
        if place.name.startswith("pytest-of"):
            break
    state = folder.parent / "their-state"
    state.mkdir()
    state.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", program, folder, state], capture_output=True, check=False, text=True
    )
    assert "is read-only" in done.stdout, done.stderr
    assert (folder / "d" / "inner").read_bytes() == b"x"
