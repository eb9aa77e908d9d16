"""File copies that share their bytes where the file system can."""

import errno
import os
import sys
from pathlib import Path

from portico.files import real_path

_CHUNK_BYTES = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL

if sys.platform == "linux":
    import fcntl

    _SHARE_ALL = 0x40049409
    """The request of Linux that makes one file share all blocks of another."""

    def clone(source: Path, target: Path) -> None:
        """Make a new file that shares its bytes, or raise the OSError that says why not."""
        reading = real_path.open_file(source)
        try:
            writing = real_path.open_file(target, _NEW, 0o600)
            try:
                fcntl.ioctl(writing, _SHARE_ALL, reading)
            except OSError:
                real_path.unlink(target)
                raise
            finally:
                os.close(writing)
        finally:
            os.close(reading)

elif sys.platform == "darwin":
    import ctypes

    def clone(source: Path, target: Path) -> None:
        """Make a new file that shares its bytes, or raise the OSError that says why not."""
        library = ctypes.CDLL(None, use_errno=True)
        reading = real_path.open_file(source)
        try:
            folder, name = real_path.parent(target)
            with folder:
                if library.fclonefileat(reading, folder.descriptor, os.fsencode(name), 0) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number), name)
        finally:
            os.close(reading)

else:

    def clone(source: Path, target: Path) -> None:
        """Make a new file that shares its bytes, or raise the OSError that says why not."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(source), None, str(target))


def can_clone(source: Path, folder: Path) -> bool:
    """Whether a file of one place can be cloned into a folder of another, tried with this file."""
    trial = folder / "clone-trial"
    trial.unlink(missing_ok=True)
    try:
        clone(source, trial)
    except OSError:
        return False
    trial.unlink()
    return True


def copy_bytes(source: Path, target: Path) -> None:
    """Make a new file with the same bytes, shared if that can be."""
    try:
        clone(source, target)
    except OSError:
        real_path.unlink(target, missing_ok=True)
        read_and_write(source, target)


def read_and_write(source: Path, target: Path) -> None:
    """Make a new file with the same bytes, one by one."""
    reading = real_path.open_file(source)
    try:
        writing = real_path.open_file(target, _NEW, 0o600)
        try:
            while chunk := os.read(reading, _CHUNK_BYTES):
                left = memoryview(chunk)
                while left:
                    left = left[os.write(writing, left) :]
        finally:
            os.close(writing)
    finally:
        os.close(reading)
