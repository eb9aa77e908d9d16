"""Ignored files and folders (installed packages, for example) that are cloned, copied or linked into a
working copy.

Commands of an agent need them, and no change in them is ever proposed. They are cloned where the file system can
share bytes, else copied within bounds of size and time. Files of secrets stay where they are.
"""

import contextlib
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import SessionBusy
from portico.files import real_path
from portico.files.folders import make_folders, open_folder
from portico.review.files.clone import can_clone, clone, read_and_write
from portico.review.files.omitted_file import OmittedFile
from portico.review.git.file_lister import may_hold_secrets
from portico.review.working_copies.file_access import set_mode_and_time
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.tree import moved_link

_CERTIFICATES = "cacert.pem"
_PACKAGES = {"site-packages", "node_modules"}
_TRIAL_SECONDS = 0.5
_CACHES = {
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".import_linter_cache",
}


_LARGEST_BYTES = 256 * 1024
_MARK = "pyvenv.cfg"


class IgnoredCopies(msgspec.Struct, frozen=True):
    """The files that are there now, those that are `linked` to the person's own, and what stayed behind."""

    paths: tuple[str, ...]
    linked: tuple[str, ...]
    left_out: tuple[OmittedFile, ...]


class _TooMuch(Exception):
    """A folder is beyond the bounds; its text says which."""


class IgnoredFileCopier:
    """Carries from one tree to another. `linked` are names that the person wants shared rather than copied."""

    def __init__(
        self, root: Path, top: Path, bounds: WorkingCopyBounds, linked: Collection[str], stop: threading.Event
    ) -> None:
        self._root = root
        self._top = top
        self._bounds = bounds
        self._linked = linked
        self._stop = stop
        self._deadline = time.monotonic() + bounds.carried_seconds
        self._cloning: bool | None = None
        self._bytes_left = bounds.carried_bytes
        self._files_left = bounds.carried_files
        self._paths: list[str] = []
        self._left_out: dict[str, str] = {}

    def carry(self, names: Sequence[str]) -> IgnoredCopies:
        linked: list[str] = []
        sizes: list[tuple[int, int, str]] = []
        for name in names:
            try:
                if _is_cache(name):
                    continue
                if name in self._linked or name.rpartition("/")[2] in self._linked:
                    self._link(name)
                    linked.append(name)
                elif may_hold_secrets(name):
                    self._left_out[name] = "may hold secrets"
                else:
                    sizes.append((*self._size(name), name))
            except _TooMuch as error:
                self._left_out[name] = str(error)
            except OSError as error:
                self._left_out[name] = f"cannot be read ({error.strerror})"
        for size, count, name in sorted(sizes):
            try:
                self._take(name, size, count)
            except _TooMuch as error:
                self._left_out[name] = str(error)
        left_out = tuple(OmittedFile(path, reason) for path, reason in sorted(self._left_out.items()))
        return IgnoredCopies(tuple(self._paths), tuple(linked), left_out)

    def _link(self, name: str) -> None:
        place = self._top / name
        make_folders(place.parent).close()
        real_path.symlink(str(self._root / name), place)

    def _size(self, name: str) -> tuple[int, int]:
        """Number of bytes and files, unless they are certainly too many."""
        size = count = 0
        cloning = self._can_clone(name)
        for count, (_, facts) in enumerate(self._walk(name)):
            size += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
            self._check(0 if cloning else size, count, cloning=cloning)
        return size, count + 1

    def _check(self, size: int, count: int, *, cloning: bool) -> None:
        if self._stop.is_set():
            raise SessionBusy("Copying the workspace for the agent was cancelled.")
        if size > self._bytes_left:
            raise _TooMuch(f"is ignored, and too large to copy (over {self._bounds.carried_bytes >> 20} MB)")
        if count > (self._bounds.cloned_files if cloning else self._files_left):
            raise _TooMuch("is ignored, and has too many files to copy")
        if time.monotonic() > self._deadline:
            raise _TooMuch(f"is ignored, and copying took over {self._bounds.carried_seconds:.0f} s")

    def _check_pace(self, begun: float, done: float) -> None:
        """Stop as soon as the time limit cannot be met."""
        now = time.monotonic()
        if now - begun > _TRIAL_SECONDS and begun + (now - begun) / done > self._deadline:
            raise _TooMuch(f"is ignored, and would take over {self._bounds.carried_seconds:.0f} s to copy")

    def _take(self, name: str, size: int, count: int) -> None:
        taken: list[str] = []
        cloning = self._can_clone(name)
        begun = time.monotonic()
        try:
            self._check(0 if cloning else size, 0, cloning=cloning)
            make_folders((self._top / name).parent).close()
            for path, facts in self._walk(name):
                self._check(0, len(taken), cloning=cloning)
                with contextlib.suppress(FileNotFoundError):  # Gone since it was listed.
                    if self._copy(path, facts, clone if cloning else read_and_write):
                        taken.append(path)
                self._check_pace(begun, (len(taken) + 1) / (count + 1))
            _relocate(self._top / name, self._root, self._top)
        except (_TooMuch, OSError) as error:
            self._drop(self._top / name)
            if isinstance(error, _TooMuch):
                raise
            raise _TooMuch(f"is ignored, and cannot be copied ({error.strerror})") from error
        if not cloning:
            self._bytes_left -= size
            self._files_left -= len(taken)
        self._paths += taken

    def _copy(self, path: str, facts: os.stat_result, copying: Callable[[Path, Path], None]) -> bool:
        """Whether it is a file or link; a folder is made on the way to what is in it."""
        source, place = self._root / path, self._top / path
        if stat.S_ISDIR(facts.st_mode):
            make_folders(place).close()
        elif stat.S_ISLNK(facts.st_mode):
            real_path.symlink(moved_link(real_path.readlink(source), self._root, self._top), place)
            return True
        elif stat.S_ISREG(facts.st_mode):
            copying(source, place)
            set_mode_and_time(place, facts.st_mode & 0o777, facts.st_mtime_ns)
            return True
        return False

    def _walk(self, name: str) -> Iterator[tuple[str, os.stat_result]]:
        """All entries at and below a path, folders first; no secrets."""
        facts = real_path.lstat(self._root / name)
        yield name, facts
        if not stat.S_ISDIR(facts.st_mode):
            return
        waiting = [name]
        while waiting:
            folder = waiting.pop()
            with open_folder(self._root / folder) as opened, opened.scan() as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if _is_cache(path) or (may_hold_secrets(path) and not self._is_published(path)):
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if entry.name == ".git" and not is_folder:
                        continue  # It leads to a repository of the person's, which is not to be worked in.
                    yield path, entry.stat(follow_symlinks=False)
                    if is_folder:
                        waiting.append(path)

    def _is_published(self, path: str) -> bool:
        """Whether a file that is named like a secret is a certificate of an installed package, which programs
        need.

        Other files of that kind are reported, except in packages.
        """
        parts = path.split("/")
        packaged = not _PACKAGES.isdisjoint(parts)
        if not packaged:
            self._left_out[path] = "may hold secrets"
        return packaged and parts[-1] == _CERTIFICATES

    def _can_clone(self, name: str) -> bool:
        """Tried once, with the first file."""
        if self._cloning is None:
            file = next((path for path, facts in self._walk(name) if stat.S_ISREG(facts.st_mode)), None)
            if file is None:
                return False
            self._cloning = can_clone(self._root / file, self._top.parent)
        return self._cloning

    @staticmethod
    def _drop(place: Path) -> None:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            real_path.unlink(place, missing_ok=True)


def _is_cache(path: str) -> bool:
    """Whether it is a cache that its program fills again in a new place."""
    parts = path.split("/")
    return parts[-1] in _CACHES and _PACKAGES.isdisjoint(parts)


def _relocate(folder: Path, old: Path, new: Path) -> None:
    """Rewrite paths below `old` to `new` in an environment that was copied to `folder`; do nothing in others."""
    if not (folder / _MARK).is_file():
        return
    before, after = os.fsencode(old), os.fsencode(new)
    for place in _naming_places(folder):
        with contextlib.suppress(OSError):
            data = real_path.read(place, limit=_LARGEST_BYTES)
            if before in data and b"\0" not in data:
                modified_ns = real_path.lstat(place).st_mtime_ns
                with open(real_path.open_file(place, os.O_RDWR), "r+b") as file:  # noqa: PTH123 - of a descriptor
                    file.write(_replaced(data, before, after))
                    file.truncate()
                    file.flush()
                    os.utime(
                        file.fileno() if os.utime in os.supports_fd else place, ns=(modified_ns, modified_ns)
                    )


def _naming_places(folder: Path) -> Iterator[Path]:
    yield folder / _MARK
    for scripts in ("bin", "Scripts"):
        yield from (folder / scripts).glob("*")
    for pattern in ("*.pth", "*.egg-link", "__editable__*.py", "*.dist-info/direct_url.json"):
        yield from folder.glob(f"lib/python*/site-packages/{pattern}")
        yield from folder.glob(f"Lib/site-packages/{pattern}")


def _replaced(data: bytes, before: bytes, after: bytes) -> bytes:
    """Replace a path where it ends, so that a longer name with the same beginning stays."""
    parts = data.split(before)
    joined = parts[0]
    for part in parts[1:]:
        ends = not part or part[:1] in b"/\\\"' \r\n\t:;)"
        joined += (after if ends else before) + part
    return joined
