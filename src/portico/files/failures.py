"""Translates errors of the file system into StoreFailed, with what to do."""

import errno
from pathlib import Path
from typing import NamedTuple

from portico.domain.errors import StoreFailed


class Advice(NamedTuple):
    """A failure and its remedy; `{path}` stands for the file."""

    message: str
    suggestion: str

    def failure(self, error: Exception, path: Path) -> StoreFailed:
        """The failure with this advice, caused by `error`."""
        failure = StoreFailed(f"{self.message.format(path=path)} ({error})", suggestion=self.suggestion)
        failure.__cause__ = error
        return failure


FULL = Advice(
    "The disk that holds {path} is full, so nothing was written.",
    "Free some space, then continue: everything recorded before is intact.",
)
FORBIDDEN = Advice(
    "{path} may not be written.",
    "Check the owner and the mode of the file and its folder, or set PORTICO_HOME to a folder that you own.",
)
UNREACHABLE = Advice(
    "{path} cannot be opened.",
    "Check that its folder exists and is yours, or set PORTICO_HOME to another folder.",
)
DEVICE = Advice(
    "The disk that holds {path} failed to read or write.",
    "Check the disk and its free space, then try again: everything recorded before is intact.",
)
_BY_ERRNO = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: FORBIDDEN,
    errno.ENOTDIR: UNREACHABLE,
    errno.EEXIST: UNREACHABLE,
    errno.EIO: DEVICE,
}


def file_failure(error: OSError, path: Path) -> StoreFailed:
    return _BY_ERRNO.get(error.errno or 0, UNREACHABLE).failure(error, path)
