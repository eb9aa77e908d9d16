"""Locks between processes, held on small files and freed by the kernel when their holder dies."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    # Locked bytes cannot be read by others there, so the lock stands far behind the text.
    _LOCKED_BYTE = 1 << 30

    def lock(descriptor: int, *, wait: bool) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        # Closing alone would leave the lock with a child that is just between fork and exec.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class LockFile:
    """The file of a lock, open inside a `with`, at whose end the lock is freed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._is_held = False

    def __enter__(self) -> "LockFile":
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._is_held:
                unlock(self._descriptor)
        finally:
            os.close(self._descriptor)

    def take(self, *, wait: bool) -> bool:
        """Take the lock; False if another process holds it."""
        self._is_held = lock(self._descriptor, wait=wait)
        return self._is_held


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; False if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        is_free = lock(descriptor, wait=False)
        if is_free:
            unlock(descriptor)
        return not is_free
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to this file name, for the moment of one change."""
    with LockFile(path) as file:
        file.take(wait=True)
        yield
