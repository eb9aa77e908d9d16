"""Translates errors of SQLite and the system into StoreFailed, with what to do.

Outside of this package, the original errors are seen only as causes.
"""

import errno
import sqlite3
from pathlib import Path
from typing import NamedTuple

from portico.domain.errors import StoreFailed

Foreign = sqlite3.Error | OSError | UnicodeEncodeError
FOREIGN = (sqlite3.Error, OSError, UnicodeEncodeError)
DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_LIBRARY_CODE = 0xFF
"""SQLite's extended result codes keep the plain one in their lowest byte."""


class _Advice(NamedTuple):
    message: str
    suggestion: str


_FULL = _Advice(
    "The disk that holds {path} is full, so nothing was written.",
    "Free some space, then go on: everything recorded before is intact.",
)
_LOCKED = _Advice(
    "Another process kept {path} locked for too long, so nothing was written.",
    "Try again. If it stays locked, look for a Portico process that hangs and end it.",
)
_FORBIDDEN = _Advice(
    "{path} may not be written.",
    "Check the owner and the mode of the file and its folder, or set PORTICO_HOME to a folder of yours.",
)
_DAMAGED = _Advice(
    "{path} is damaged, or is not a Portico log.",
    "Move the file away and start afresh, or bring it back from a backup.",
)
_UNREACHABLE = _Advice(
    "{path} cannot be opened.",
    "Check that its folder exists and is yours, or set PORTICO_HOME to another folder.",
)
_DEVICE = _Advice(
    "The disk that holds {path} failed to read or write.",
    "Check the disk and its free space, then try again: everything recorded before is intact.",
)
_TOO_LARGE = _Advice(
    "An event is too large for {path}, so nothing was written.",
    "Ask for the result in smaller parts.",
)
_NOT_UNICODE = _Advice(
    "A name is not Unicode text, so {path} cannot hold it.",
    "Use a name that can be written as UTF-8.",
)
_UNEXPECTED = _Advice(
    "{path} could not be used.",
    "Run `portico doctor`, and report what it says.",
)

_BY_LIBRARY_CODE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_AUTH: _FORBIDDEN,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _DEVICE,
    sqlite3.SQLITE_TOOBIG: _TOO_LARGE,
}
_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.ENOTDIR: _UNREACHABLE,
    errno.EEXIST: _UNREACHABLE,
    errno.EIO: _DEVICE,
}


def library_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None if Python's module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _LIBRARY_CODE


def is_locked(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and library_code(error) == sqlite3.SQLITE_BUSY


def store_failure(error: Foreign, path: Path) -> StoreFailed:
    """The StoreFailed for an error of SQLite or the system, which becomes its cause."""
    if isinstance(error, UnicodeEncodeError):
        advice = _NOT_UNICODE
    elif isinstance(error, OSError):
        advice = _BY_ERRNO.get(error.errno or 0, _UNREACHABLE)
    else:
        advice = _BY_LIBRARY_CODE.get(library_code(error) or 0, _UNEXPECTED)
    failure = StoreFailed(f"{advice.message.format(path=path)} ({error})", suggestion=advice.suggestion)
    failure.__cause__ = error
    return failure


def file_replaced(path: Path) -> StoreFailed:
    return StoreFailed(
        f"{path} was removed or replaced while Portico had it open, so nothing was written.",
        suggestion="Put it back, or stop this Portico and start it again to begin with what is there now.",
    )


def newer_schema(found: int, known: int) -> StoreFailed:
    return StoreFailed(
        f"The log was written by a newer Portico (schema {found}, this one knows {known}).",
        suggestion="Upgrade Portico, or set PORTICO_HOME to another folder.",
    )
