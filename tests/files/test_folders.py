"""Folders and files by their real paths: whatever link is in the way, it is not followed."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from portico.files import folders, real_path
from portico.files.folders import make_folders, open_folder, open_stepwise
from portico.files.regular import FileTooLarge, NotRegularFile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors of folders are POSIX")


@pytest.fixture(params=["as the system can", "part by part"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in it, a folder beside it, and links of every kind."""
    if request.param == "part by part":
        monkeypatch.setattr(folders, "_opener", lambda: open_stepwise)
    root = Path(os.path.realpath(tmp_path)) / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("outside")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in").symlink_to("a")
    (root / "absolute").symlink_to(root / "a")
    (root / "self").symlink_to("/proc/self/cwd")
    (root / "circle").symlink_to("circle")
    return root


@pytest.mark.parametrize("link", ["out", "in", "absolute", "self", "circle", "in/b", "out/inner"])
def test_no_link_in_a_path_is_followed_wherever_it_leads(root: Path, link: str) -> None:
    path = root / link / "file"
    uses: list[Callable[[], object]] = [
        lambda: open_folder(path.parent).close(),
        lambda: make_folders(path.parent / "new").close(),
        lambda: real_path.lstat(path),
        lambda: real_path.read(path, limit=100),
        lambda: real_path.open_file(path, os.O_WRONLY | os.O_CREAT),
        lambda: real_path.replace_content(path, b"written"),
        lambda: real_path.unlink(path, missing_ok=True),
        lambda: real_path.rename(root / "a" / "file", path),
        lambda: real_path.rename(path, root / "a" / "stolen"),
        lambda: real_path.link(path, root / "a" / "stolen"),
        lambda: real_path.link(root / "a" / "file", path),
        lambda: real_path.symlink("x", path),
        lambda: real_path.readlink(path),
        lambda: real_path.mkdir(path),
        lambda: real_path.rmdir(path),
        lambda: real_path.chmod(path, 0o600),
        lambda: real_path.names(path.parent),
        lambda: real_path.sync_folder(path.parent),
    ]
    assert not real_path.exists(path)
    for use in uses:
        with pytest.raises(OSError, match="symbolic links") as refused:
            use()
        assert refused.value.errno == errno.ELOOP
    assert (root / "a" / "file").read_text() == "inside"
    assert real_path.names(root.parent / "outside") == ["file"]
    assert (root.parent / "outside" / "file").read_text() == "outside"


def test_a_link_in_the_place_of_a_file_is_not_followed_either(root: Path) -> None:
    (root / "a" / "link").symlink_to("file")
    assert stat.S_ISLNK(real_path.lstat(root / "a" / "link").st_mode)
    assert real_path.readlink(root / "a" / "link") == "file"
    for use in (
        lambda: real_path.open_file(root / "a" / "link"),
        lambda: real_path.chmod(root / "a" / "link", 0o600),
    ):
        with pytest.raises(OSError, match="symbolic links"):
            use()
    with pytest.raises(NotRegularFile):
        real_path.read(root / "a" / "link", limit=100)
    with pytest.raises(NotRegularFile):
        real_path.replace_content(root / "a" / "link", b"written")
    assert (root / "a" / "file").read_text() == "inside"


def test_a_file_can_be_made_moved_and_removed(root: Path) -> None:
    path = root / "new" / "deep" / "file"
    real_path.replace_content(path, b"one")
    real_path.chmod(path, 0o640)
    real_path.replace_content(path, b"two")
    assert (real_path.read(path, limit=3), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o640)
    real_path.link(path, root / "second")
    real_path.rename(root / "second", root / "a" / "file")
    assert (root / "a" / "file").read_text() == "two"
    real_path.symlink("file", root / "new" / "deep" / "link")
    assert sorted(real_path.names(root / "new" / "deep")) == ["file", "link"]
    real_path.unlink(path)
    real_path.unlink(root / "new" / "deep" / "link")
    assert not real_path.exists(path)
    real_path.unlink(path, missing_ok=True)
    real_path.rmdir(root / "new" / "deep")
    real_path.mkdir(root / "new" / "deep")
    real_path.sync_folder(root / "new" / "deep")
    with open_folder(root / "new") as folder, folder.scan() as entries:
        assert [(one.name, one.is_dir(follow_symlinks=False)) for one in entries] == [("deep", True)]
        assert stat.S_ISDIR(folder.facts().st_mode)


def test_a_file_that_may_be_written_by_nobody_keeps_its_bits_until_they_are_set(root: Path) -> None:
    (root / "a" / "file").chmod(0)
    real_path.chmod(root / "a" / "file", 0o600)
    assert stat.S_IMODE((root / "a" / "file").stat().st_mode) == 0o600


def test_what_is_read_is_regular_and_bounded(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(NotRegularFile):
        real_path.read(root / "pipe", limit=100)
    with pytest.raises(IsADirectoryError):
        real_path.read(root / "a", limit=100)
    with pytest.raises(FileTooLarge):
        real_path.read(root / "a" / "file", limit=5)
    with pytest.raises(FileNotFoundError):
        real_path.read(root / "a" / "none", limit=100)


def test_an_error_names_the_whole_path(root: Path) -> None:
    uses: list[Callable[[], object]] = [
        lambda: real_path.unlink(root / "a" / "none"),
        lambda: real_path.rename(root / "a" / "none", root / "none"),
        lambda: real_path.mkdir(root / "none" / "deep"),
        lambda: real_path.rmdir(root / "a" / "none"),
    ]
    for use in uses:
        with pytest.raises(FileNotFoundError) as missing:
            use()
        assert str(missing.value.filename).startswith(f"{root}/")
    with pytest.raises(NotADirectoryError):
        real_path.lstat(root / "a" / "file" / "inner")


def test_only_whole_paths_that_do_not_climb_are_taken(root: Path) -> None:
    for path in ("relative", str(root / "a" / ".." / "b")):
        with pytest.raises(ValueError, match="not a real path"):
            open_folder(path)


def test_no_descriptor_is_left_open(root: Path) -> None:
    def opened() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = opened()
    for path in (
        root / "out" / "file",
        root / "none" / "file",
        root / "a" / "file" / "x",
        root / "a" / "file",
    ):
        with pytest.raises(OSError, match=r"\[Errno"):
            real_path.read(path, limit=3)
        with pytest.raises(OSError, match=r"\[Errno"):
            real_path.rename(path, root / "none" / "x")
    assert opened() == before
