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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to this file name, for the moment of one change."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(descriptor, wait=True)
        try:
            yield
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)
