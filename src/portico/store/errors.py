"""Translates errors of SQLite and the system into StoreFailed, with what to do.

Outside of this package, the original errors are seen only as causes.
"""

import sqlite3
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.files.failures import DEVICE, FORBIDDEN, FULL, UNREACHABLE, Advice, file_failure

Foreign = sqlite3.Error | OSError | UnicodeEncodeError
FOREIGN = (sqlite3.Error, OSError, UnicodeEncodeError)
DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_LIBRARY_CODE = 0xFF
"""SQLite's extended result codes keep the plain one in their lowest byte."""


_LOCKED = Advice(
    "Another process kept {path} locked for too long, so nothing was written.",
    "Try again. If it stays locked, look for a Portico process that hangs and end it.",
)
_DAMAGED = Advice(
    "{path} is damaged, or is not a Portico log.",
    "Move the file away to start over, or restore it from a backup.",
)
_TOO_LARGE = Advice(
    "An event is too large for {path}, so nothing was written.",
    "Ask for the result in smaller parts.",
)
_NOT_UNICODE = Advice(
    "A name is not Unicode text, so {path} cannot hold it.",
    "Use a name that can be written as UTF-8.",
)
_UNEXPECTED = Advice(
    "{path} could not be used.",
    "Run `portico doctor` and report its output.",
)

_BY_LIBRARY_CODE = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_READONLY: FORBIDDEN,
    sqlite3.SQLITE_PERM: FORBIDDEN,
    sqlite3.SQLITE_AUTH: FORBIDDEN,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: UNREACHABLE,
    sqlite3.SQLITE_IOERR: DEVICE,
    sqlite3.SQLITE_TOOBIG: _TOO_LARGE,
}


def library_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None if Python's module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _LIBRARY_CODE


def is_locked(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and library_code(error) == sqlite3.SQLITE_BUSY


def store_failure(error: Foreign, path: Path) -> StoreFailed:
    """The StoreFailed for an error of SQLite or the system, which becomes its cause."""
    if isinstance(error, OSError):
        return file_failure(error, path)
    if isinstance(error, UnicodeEncodeError):
        return _NOT_UNICODE.failure(error, path)
    return _BY_LIBRARY_CODE.get(library_code(error) or 0, _UNEXPECTED).failure(error, path)


def file_replaced(path: Path) -> StoreFailed:
    return StoreFailed(
        f"{path} was removed or replaced while Portico had it open, so nothing was written.",
        suggestion="Put it back, or restart Portico to continue with the file that is there now.",
    )


def newer_schema(found: int, known: int) -> StoreFailed:
    return StoreFailed(
        f"The log was written by a newer Portico (schema {found}, this one knows {known}).",
        suggestion="Upgrade Portico, or set PORTICO_HOME to another folder.",
    )
