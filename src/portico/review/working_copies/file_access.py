"""Access to single files of a working copy or its source tree: read, stat, create. Follows no link.

Places are real paths. Where a link is in the place of a folder above a file, there is no file.
"""

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

from portico.files import real_path
from portico.files.folders import FolderCache, OpenFolder
from portico.review.text.change_set import digest_of
from portico.review.working_copies.record import BaseEntry, Stamp

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PERMISSIONS = 0o777
LINK_PERMISSIONS = 0o777
"""Mode of every link in the records of a working copy."""
_CHUNK_BYTES = 1 << 20
_TRIES = 5
_SECOND = 1_000_000_000
_TICK = 20_000_000
_COARSE_TICK = 2 * _SECOND


class UnusableEntry(Exception):
    """Something at a path that is neither a file nor a link, or cannot be read. Its text says what."""


class EntryIsFolder(UnusableEntry):
    """A folder where a file was looked for."""


class TreeFile(NamedTuple):
    """A file or link as it stands. `data` is None beyond the bound; `stamp` is None while it may still change."""

    entry: BaseEntry
    stamp: Stamp | None
    data: bytes | None
    modified_ns: int


def stamp_of(facts: os.stat_result) -> Stamp:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def settled_stamp(stamp: Stamp) -> Stamp | None:
    """The stamp, if any later write is certain to change it: clocks of file systems are coarse."""
    latest = max(stamp[2], stamp[3])
    tick = _TICK if latest % _SECOND else _COARSE_TICK
    return stamp if latest + tick < time.time_ns() else None


def current_stamp(place: str, folders: FolderCache | None = None) -> Stamp | None:
    """Current stamp of a file; None if there is none. `folders` caches open folders."""
    try:
        return stamp_of(real_path.lstat(place, folders))
    except OSError:
        return None


def find(place: str, limit: int, folders: FolderCache | None = None) -> TreeFile | None:
    """File or link at a path, read consistently; None if there is none."""
    try:
        if folders is not None:
            return _find(*folders.parent(place), limit)
        folder, name = real_path.parent(place)
        with folder:
            return _find(folder, name, limit)
    except OSError as error:
        if error.errno in real_path.ABSENT:
            return None
        raise UnusableEntry(f"cannot be read ({error.strerror})") from error


def _find(folder: OpenFolder, name: str, limit: int) -> TreeFile:
    for _ in range(_TRIES - 1):
        before = folder.lstat(name)
        found = _read(folder, name, before, limit)
        if stamp_of(folder.lstat(name)) == stamp_of(before):
            return found
    return _read(folder, name, folder.lstat(name), limit)._replace(stamp=None)


def _read(folder: OpenFolder, name: str, facts: os.stat_result, limit: int) -> TreeFile:
    stamp = settled_stamp(stamp_of(facts))
    if stat.S_ISLNK(facts.st_mode):
        target = os.fsencode(folder.readlink(name))
        entry = BaseEntry(digest_of(target), len(target), LINK_PERMISSIONS, link=True)
        return TreeFile(entry, stamp, target, facts.st_mtime_ns)
    if stat.S_ISDIR(facts.st_mode):
        raise EntryIsFolder("is a folder")
    if not stat.S_ISREG(facts.st_mode):
        raise UnusableEntry("is a device, pipe or socket")
    descriptor = folder.open(name)
    try:
        data: bytes | None = None
        size = facts.st_size
        if size <= limit:
            data = _whole(descriptor, size)
            digest, size = digest_of(data), len(data)
        else:
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()
    finally:
        os.close(descriptor)
    return TreeFile(BaseEntry(digest, size, facts.st_mode & _PERMISSIONS), stamp, data, facts.st_mtime_ns)


def _whole(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        parts.append(chunk)
    return b"".join(parts)


def write_new(
    folder: OpenFolder, name: str, data: bytes, entry: BaseEntry, modified_ns: int | None = None
) -> Stamp:
    """Make a file or link that is not there yet. FileExistsError where the name means one that is."""
    if entry.link:
        folder.symlink(os.fsdecode(data), name)
        return stamp_of(folder.lstat(name))
    descriptor = folder.open(name, _NEW, _PERMISSIONS)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        _dress(descriptor, f"{folder.path}/{name}", entry.mode, modified_ns)
        return stamp_of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def set_mode_and_time(place: Path, mode: int, modified_ns: int | None) -> None:
    """Give a new file its rights and its age: programs that build compare ages."""
    descriptor = real_path.open_file(place)
    try:
        _dress(descriptor, str(place), mode, modified_ns)
    finally:
        os.close(descriptor)


def _dress(descriptor: int, place: str, mode: int, modified_ns: int | None) -> None:
    if modified_ns is not None:
        os.utime(descriptor if os.utime in os.supports_fd else place, ns=(modified_ns, modified_ns))
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def remove_empty_above(top: Path, path: str, keeping: Path) -> None:
    """Remove folders that a removed file leaves empty, except the agent's current folder."""
    for folder in (top / path).parents:
        if folder == top or keeping.is_relative_to(folder):
            return
        try:
            real_path.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return
