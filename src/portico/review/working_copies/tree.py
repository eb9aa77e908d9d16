"""File tree of a working copy: find, add, replace and remove files; absolute links point into the copy.

A link that names a place in the person's tree by its full path would lead an agent out of its own tree; in the
working copy it names the same place there, and is read back as the person has it.
"""

import errno
import os
import secrets
import stat
from pathlib import Path

import msgspec

from portico.files import real_path
from portico.files.folders import FolderCache, make_folders, open_folder
from portico.review.files.clone import copy_bytes
from portico.review.text.change_set import digest_of
from portico.review.working_copies.file_access import (
    EntryIsFolder,
    TreeFile,
    UnusableEntry,
    current_stamp,
    find,
    remove_empty_above,
    set_mode_and_time,
    write_new,
)
from portico.review.working_copies.record import BaseEntry, Stamp

_IN_THE_WAY = real_path.ABSENT | {errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY, errno.EACCES, errno.EPERM}


class CopyTree:
    """The tree at `top`, made from the one at `root`. What is on its way in waits in `waiting`, beside it."""

    def __init__(self, top: Path, root: Path, *, waiting: Path, standing: Path) -> None:
        self.top = top
        self._waiting = waiting
        self._standing = standing
        self._here = os.fsencode(top)
        self._there = os.fsencode(root)

    def find(self, path: str, limit: int, folders: FolderCache | None = None) -> TreeFile | None:
        found = find(f"{self.top}/{path}", limit, folders)
        if found is None or not found.entry.link or found.data is None:
            return found
        target = _moved(found.data, self._here, self._there)
        entry = msgspec.structs.replace(found.entry, digest=digest_of(target), size=len(target))
        return found._replace(entry=entry, data=target)

    def find_file(self, path: str, limit: int, folders: FolderCache | None = None) -> TreeFile | None:
        """The file at a path; None if there is a folder."""
        try:
            return self.find(path, limit, folders)
        except EntryIsFolder:
            return None

    def add(self, path: str, found: TreeFile, folders: FolderCache) -> Stamp:
        """Make a file in a tree that is being filled."""
        data = self._local(found.entry, found.data or b"")
        return write_new(*folders.parent(f"{self.top}/{path}"), data, found.entry, found.modified_ns)

    def add_from(self, path: str, source: Path, found: TreeFile) -> Stamp | None:
        """Make a file that is too large to be held, in a tree that is being filled."""
        place = self.top / path
        copy_bytes(source, place)
        set_mode_and_time(place, found.entry.mode, found.modified_ns)
        return current_stamp(str(place))

    def put(
        self, path: str, entry: BaseEntry, data: bytes | Path, modified_ns: int | None = None
    ) -> Stamp | None:
        """Write a file atomically, replacing the existing one. None if that is impossible, or its source is
        gone.
        """
        place = self.top / path
        staged = self._waiting / secrets.token_hex(6)
        self._waiting.mkdir(mode=0o700, exist_ok=True)
        try:
            if isinstance(data, Path):
                copy_bytes(data, staged)
                set_mode_and_time(staged, entry.mode, modified_ns)
                if digest_at(staged, entry.size) != entry.digest:
                    return None
            else:
                with open_folder(self._waiting) as waiting:
                    write_new(waiting, staged.name, self._local(entry, data), entry, modified_ns)
            make_folders(place.parent).close()
            real_path.rename(staged, place)
        except OSError as error:
            if error.errno in _IN_THE_WAY:
                return None
            raise
        finally:
            staged.unlink(missing_ok=True)
        return current_stamp(str(place))

    def remove(self, path: str) -> bool:
        """Remove a file; a folder stays. False if it cannot be removed."""
        place = self.top / path
        try:
            facts = real_path.find(place)
            if facts is not None and stat.S_ISDIR(facts.st_mode):
                return True
            real_path.unlink(place, missing_ok=True)
        except PermissionError:
            return False
        except OSError as error:
            if error.errno in real_path.ABSENT:
                return True
            raise
        remove_empty_above(self.top, path, self._standing)
        return True

    def _local(self, entry: BaseEntry, data: bytes) -> bytes:
        return _moved(data, self._there, self._here) if entry.link else data


def leads_out(path: str, target: bytes) -> bool:
    """Whether a link at a path leads out of the tree by climbing, and so to another place from a copy."""
    if target.startswith(b"/"):
        return False
    depth = path.count("/")
    for part in target.split(b"/"):
        if part == b"..":
            depth -= 1
            if depth < 0:
                return True
        elif part not in (b"", b"."):
            depth += 1
    return False


def digest_at(place: Path, size: int) -> str | None:
    """The digest of what is there now, if it is a file of that size."""
    try:
        found = find(str(place), limit=-1)
    except UnusableEntry:
        return None
    return found.entry.digest if found is not None and found.entry.size == size else None


def moved_link(target: str, root: Path, top: Path) -> str:
    """Target in the working copy of a link in the person's tree."""
    return os.fsdecode(_moved(os.fsencode(target), os.fsencode(root), os.fsencode(top)))


def _moved(target: bytes, old: bytes, new: bytes) -> bytes:
    if target == old:
        return new
    return new + target[len(old) :] if target.startswith(old + b"/") else target
