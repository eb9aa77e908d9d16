"""Stat facts of every file in a folder, by which changes are found without reading files.

Of a git folder, the parts are listed that git runs or obeys: HEAD, config, hooks, info and branches.
"""

import os
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

_GIT = b".git"
_GIT_FILES = (b"HEAD", b"config", b"config.worktree", b"commondir")
_GIT_FOLDERS = (b"hooks/", b"info/", b"refs/heads/")
_BRANCHES_OF_OURS = b"refs/heads/portico"
_TICK = 100_000_000
"""Longer than any tick of a file system's clock, in nanoseconds."""

Stat = tuple[int, int, int, int]
"""Mode, size, and when content and anything at all last changed, in nanoseconds."""


class FileStats(msgspec.Struct, frozen=True):
    """Stat facts by path, relative to the folder. If not `whole`, listing timed out and only git's files are
    included.

    If not `settled`, a file was written so recently that another write might not change its facts.
    """

    files: dict[bytes, Stat]
    whole: bool
    settled: bool = False

    def proves_same(self, later: "FileStats") -> bool:
        """Whether no file can have changed between the two."""
        return self.whole and later.whole and self.settled and self.files == later.files

    def differing(self, later: "FileStats") -> set[str]:
        """Paths that are new, gone or touched in a later listing, as far as both have looked."""
        paths = self.files.keys() | later.files.keys()
        if not (self.whole and later.whole):
            paths = {path for path in paths if is_git_path(path)}
        return {os.fsdecode(path) for path in paths if self.files.get(path) != later.files.get(path)}


def is_git_path(path: bytes) -> bool:
    """Whether a file is a part of a git folder."""
    return _GIT in path.split(b"/")[:-1]


def list_stats(
    folder: Path,
    git_folders: Collection[Path],
    *,
    without: Collection[str],
    seconds: float,
    stop: threading.Event,
) -> FileStats:
    """List a folder, with git folders that may be outside of it, but not the paths in `without`.

    In no `seconds`, git's files are listed and nothing else.
    """
    root = os.fsencode(folder)
    latest = time.time_ns() - _TICK
    deadline = time.monotonic() + seconds
    outside = [
        os.path.relpath(os.fsencode(each), root)
        for each in git_folders
        if not Path(os.path.realpath(each)).is_relative_to(folder)
    ]
    git = [*outside, _GIT] if (folder / ".git").is_dir() else outside
    files: dict[bytes, Stat] = {}
    for place in git:
        _list_git(root, place, files)
    skipped = frozenset(map(os.fsencode, without))
    whole = dict(files)
    folders = [b""]
    while folders:
        if stop.is_set() or time.monotonic() >= deadline:
            return FileStats(files, whole=False)
        for path, entry in _entries(root, folders.pop()):
            if path in skipped:
                continue
            if not entry.is_dir(follow_symlinks=False):
                _add(whole, path, entry)
            elif entry.name == _GIT:
                if path != _GIT:
                    _list_git(root, path, whole)
            else:
                folders.append(path + b"/")
    settled = all(changed < latest for _, _, _, changed in whole.values())
    return FileStats(whole, whole=True, settled=settled)


def _list_git(root: bytes, place: bytes, files: dict[bytes, Stat]) -> None:
    """Add the parts of a git folder that are worth watching, and those of its submodules."""
    folders = [place + b"/" + name for name in _GIT_FOLDERS]
    while folders:
        for path, entry in _entries(root, folders.pop()):
            if not entry.is_dir(follow_symlinks=False):
                _add(files, path, entry)
            elif not path.endswith(_BRANCHES_OF_OURS):
                folders.append(path + b"/")
    for path, entry in _entries(root, place + b"/"):
        if entry.name in _GIT_FILES:
            _add(files, path, entry)
    modules = [place + b"/modules/"]
    while modules:
        for path, entry in _entries(root, modules.pop()):
            if entry.is_dir(follow_symlinks=False):
                is_module = os.path.lexists(os.path.join(root, path, b"HEAD"))  # noqa: PTH118 - bytes
                if is_module:
                    _list_git(root, path, files)
                else:
                    modules.append(path + b"/")


def _entries(root: bytes, prefix: bytes) -> Iterator[tuple[bytes, "os.DirEntry[bytes]"]]:
    """Entries of a folder; none if it cannot be listed."""
    try:
        with os.scandir(os.path.join(root, prefix)) as entries:  # noqa: PTH118 - bytes
            for entry in entries:
                yield prefix + entry.name, entry
    except OSError:
        return


def _add(files: dict[bytes, Stat], path: bytes, entry: "os.DirEntry[bytes]") -> None:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return  # Gone since it was listed.
    files[path] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
