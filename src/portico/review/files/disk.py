"""File system calls by which a folder is changed, in one class, so that tests can make each fail.

Paths are real ones. A link in a path is an error and is not followed: see `portico.files`.
"""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from portico.files import real_path
from portico.files.folders import FolderCache
from portico.review.files.extended_attributes import copy_attributes
from portico.review.text.change_set import LINK_MODE, digest_of

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class DiskFile(NamedTuple):
    """Content and facts of a regular file. `stamp` changes with every write."""

    data: bytes
    mode: int
    stamp: tuple[int, int, int]
    owner: tuple[int, int]


class Disk:
    """The real disk. Every call does one thing, whole or with an OSError."""

    def read(self, path: Path, folders: FolderCache | None = None) -> DiskFile:
        descriptor = real_path.open_file(path, folders=folders)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - pathlib opens no descriptors
            facts = os.fstat(descriptor)
            data = file.read()
        return DiskFile(data, stat.S_IMODE(facts.st_mode), stamp_of(facts), (facts.st_uid, facts.st_gid))

    def read_entry(self, path: Path, folders: FolderCache | None = None) -> DiskFile:
        """A file, or a symbolic link itself: its content is where it leads."""
        facts = real_path.lstat(path, folders)
        if not stat.S_ISLNK(facts.st_mode):
            return self.read(path, folders)
        target = os.fsencode(real_path.readlink(path))
        return DiskFile(target, LINK_MODE, stamp_of(facts), (facts.st_uid, facts.st_gid))

    def write_new(
        self,
        path: Path,
        data: bytes,
        mode: int | None,
        owner: tuple[int, int] | None = None,
        like: Path | None = None,
    ) -> None:
        """Write a new file durably, or create a symbolic link.

        Extended attributes are copied from `like`.
        """
        if mode == LINK_MODE:
            real_path.symlink(os.fsdecode(data), path)
            return
        # Private until it has its mode, so that no other user can open it first and read it later.
        descriptor = real_path.open_file(path, _NEW, 0o666 if mode is None else 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
            if sys.platform != "win32":
                if owner is not None and owner != (os.geteuid(), os.getegid()):
                    with contextlib.suppress(PermissionError):  # Only the superuser may give files away.
                        os.fchown(descriptor, *owner)
                if like is not None:
                    copy_attributes(like, descriptor)
                if mode is not None:
                    os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)

    def keep(self, path: Path, kept: Path) -> None:
        """Create a hard link to a file, or a copy where the file system has no hard links."""
        try:
            real_path.link(path, kept)
        except (OSError, NotImplementedError):
            real_path.unlink(kept, missing_ok=True)
            found = self.read_entry(path)
            self.write_new(kept, found.data, found.mode, found.owner, path)

    def rename(self, source: Path, target: Path) -> None:
        real_path.rename(source, target)

    def remove(self, path: Path) -> None:
        real_path.unlink(path, missing_ok=True)

    def make_folder(self, path: Path, mode: int | None) -> None:
        real_path.mkdir(path)
        if mode is not None:
            real_path.chmod(path, mode)

    def remove_folder(self, path: Path) -> None:
        real_path.rmdir(path)

    def sync_folder(self, path: Path) -> None:
        """Make the names in a folder durable, where folders can be synced."""
        try:
            real_path.sync_folder(path)
        except OSError as error:
            if error.errno not in real_path.ABSENT | {errno.EACCES, errno.EPERM}:
                raise

    def folds_names(self, folder: Path) -> bool:
        """Whether names that differ only in case mean one file here."""
        for place in (*folder.iterdir(), folder, *folder.parents):
            swapped = place.with_name(place.name.swapcase()) if place.name else place
            if swapped != place:
                return swapped.exists() and swapped.samefile(place)
        return sys.platform in {"darwin", "win32"}


class BufferedDisk(Disk):
    """The disk as a person sees it who has typed into files and not saved them, by their real places."""

    def __init__(self, buffers: Mapping[str, bytes]) -> None:
        self._buffers = buffers

    def read(self, path: Path, folders: FolderCache | None = None) -> DiskFile:
        found = super().read(path, folders)
        typed = self._buffers.get(str(path))
        return found if typed is None else found._replace(data=typed)


def stamp_of(facts: os.stat_result) -> tuple[int, int, int]:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def digest_at(path: Path) -> str | None:
    """The digest of a regular file or a link, or None for anything else, nothing included."""
    try:
        mode = real_path.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return digest_as(os.fsencode(real_path.readlink(path)), LINK_MODE)
        return digest_of(Disk().read(path).data) if stat.S_ISREG(mode) else None
    except OSError as error:
        if error.errno in real_path.ABSENT:
            return None
        raise


def digest_as(data: bytes, mode: int | None) -> str:
    """The digest of a content where a link is never taken for a file that holds the same."""
    return digest_of(b"link to " + data) if mode == LINK_MODE else digest_of(data)
