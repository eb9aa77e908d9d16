"""Bounded reads of regular files that never block on a pipe or device."""

import errno
import os
import stat
from pathlib import Path

# Absent on Windows, where files of these kinds are absent too.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_TERMINAL = getattr(os, "O_NOCTTY", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class NotRegularFile(OSError):
    """A pipe, a socket or a device where a file is meant."""


class FileTooLarge(OSError):
    """A file of more bytes than its reader takes."""


def read_regular(path: Path, *, limit: int) -> bytes:
    """Read a whole file. OSError for one that is larger than `limit` bytes, or that is no regular file."""
    check_regular(path, path.stat(), limit)
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _NO_TERMINAL | _BINARY)
    return read_descriptor(descriptor, path, limit=limit)


def read_beginning(path: Path, *, limit: int) -> bytes:
    """Read a file up to `limit` bytes. OSError for one that is no regular file."""
    check_regular(path, path.stat(), None)
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _NO_TERMINAL | _BINARY)
    with open(descriptor, "rb") as file:
        check_regular(path, os.fstat(descriptor), None)
        return file.read(limit)


def read_descriptor(descriptor: int, path: Path, *, limit: int) -> bytes:
    """Read and close a descriptor that may have become something else since its path was checked."""
    with open(descriptor, "rb") as file:
        check_regular(path, os.fstat(descriptor), limit)
        data = file.read(limit + 1)
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


def check_regular(path: Path, facts: os.stat_result, limit: int | None) -> None:
    """OSError that says what is wrong with a file, if it is no regular one or is too large."""
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(facts.st_mode):
        raise NotRegularFile(errno.EINVAL, "it is a pipe, socket or device, not a regular file", str(path))
    if limit is not None and facts.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: Path, limit: int) -> FileTooLarge:
    return FileTooLarge(errno.EFBIG, f"it is larger than {limit:,} bytes", str(path))
