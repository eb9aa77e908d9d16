"""Single files of a workplace and of the tree it was made from: looked at, written, removed. Follows no link."""

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

from portico.review.text.changes import digest_of
from portico.review.workplaces.records import Entry, Stamp

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
_PERMISSIONS = 0o777
LINK_PERMISSIONS = 0o777
"""What every link has, in the records of a workplace."""
_CHUNK_BYTES = 1 << 20
_TRIES = 5
_SECOND = 1_000_000_000
_TICK = 20_000_000
_COARSE_TICK = 2 * _SECOND


class Unfit(Exception):
    """Something at a path that is neither a file nor a link, or cannot be read. Its text says what."""


class IsFolder(Unfit):
    """A folder where a file was looked for."""


class Found(NamedTuple):
    """A file or link as it stands. `data` is None beyond the bound; `stamp` is None while it may still change."""

    entry: Entry
    stamp: Stamp | None
    data: bytes | None
    modified_ns: int


def stamp_of(facts: os.stat_result) -> Stamp:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def settled(stamp: Stamp) -> Stamp | None:
    """The stamp, if a write from now on would make another one: clocks of file systems tick."""
    latest = max(stamp[2], stamp[3])
    tick = _TICK if latest % _SECOND else _COARSE_TICK
    return stamp if latest + tick < time.time_ns() else None


def current_stamp(place: str) -> Stamp | None:
    """What a file is stamped with now; None where there is nothing."""
    try:
        return stamp_of(os.lstat(place))
    except OSError:
        return None


def find(place: str, limit: int) -> Found | None:
    """What is there, read whole and as of one moment; None where there is nothing."""
    last: Found | None = None
    for _ in range(_TRIES):
        try:
            before = os.lstat(place)
            last = _read(place, before, limit)
            if stamp_of(os.lstat(place)) == stamp_of(before):
                return last
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unfit(f"cannot be read ({error.strerror})") from error
    return None if last is None else last._replace(stamp=None)


def _read(place: str, facts: os.stat_result, limit: int) -> Found:
    stamp = settled(stamp_of(facts))
    if stat.S_ISLNK(facts.st_mode):
        target = os.fsencode(os.readlink(place))  # noqa: PTH115 - as it is written, not as a Path would have it
        entry = Entry(digest_of(target), len(target), LINK_PERMISSIONS, link=True)
        return Found(entry, stamp, target, facts.st_mtime_ns)
    if stat.S_ISDIR(facts.st_mode):
        raise IsFolder("is a folder")
    if not stat.S_ISREG(facts.st_mode):
        raise Unfit("is a device, pipe or socket")
    descriptor = os.open(place, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - pathlib opens no descriptors
        data: bytes | None = None
        size = facts.st_size
        if size <= limit:
            data = _whole(descriptor, size)
            digest, size = digest_of(data), len(data)
        else:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()
    return Found(Entry(digest, size, facts.st_mode & _PERMISSIONS), stamp, data, facts.st_mtime_ns)


def _whole(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        parts.append(chunk)
    return b"".join(parts)


def write_new(place: str, data: bytes, entry: Entry, modified_ns: int | None = None) -> Stamp:
    """Make a file or link that is not there yet. FileExistsError where the name means one that is."""
    if entry.link:
        os.symlink(os.fsdecode(data), place)  # noqa: PTH211 - as it is written, not as a Path would have it
        return stamp_of(os.lstat(place))
    descriptor = os.open(place, _NEW, _PERMISSIONS)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        _dress(descriptor, place, entry.mode, modified_ns)
        return stamp_of(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def dress(place: Path, mode: int, modified_ns: int | None) -> None:
    """Give a new file its rights and its age: programs that build compare ages."""
    descriptor = os.open(place, os.O_RDONLY | _NO_FOLLOW | _BINARY)
    try:
        _dress(descriptor, str(place), mode, modified_ns)
    finally:
        os.close(descriptor)


def _dress(descriptor: int, place: str, mode: int, modified_ns: int | None) -> None:
    if modified_ns is not None:
        os.utime(descriptor if os.utime in os.supports_fd else place, ns=(modified_ns, modified_ns))
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def led_astray(top: Path, path: str) -> bool:
    """Whether a folder above the path is a link or a file, so that the path means something else."""
    place = str(top)
    for part in path.split("/")[:-1]:
        place = f"{place}/{part}"
        try:
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return True
        except OSError:
            return False
    return False


def remove_empty_above(top: Path, path: str, keeping: Path) -> None:
    """Take away the folders that a removed file leaves empty, but for the one that an agent stands in."""
    for folder in (top / path).parents:
        if folder == top or keeping.is_relative_to(folder):
            return
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return
