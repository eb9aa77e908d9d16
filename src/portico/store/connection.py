"""SQLite connection with the only thread that uses it.

The queries are in `queries`, `migrations` and `verification`.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from portico.domain.errors import StoreFailed
from portico.store.errors import FOREIGN, file_replaced, is_locked, store_failure

_Result = TypeVar("_Result")

_RETRY_SECONDS = 0.01


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that takes the write lock first, so that nothing read in it changes until its end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def fetch_lenient(connection: sqlite3.Connection, query: str, values: Sequence[object]) -> list[Any]:
    """All rows of a query, with replacement characters for invalid text. Too slow for events."""
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.text_factory = str


def connect_writer(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A writable connection to a file that only its owner can read, which is created if it does not exist."""
    try:
        # With O_EXCL a file that exists is never opened and closed here: that would drop the
        # locks that other connections of this process have on it.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    connection = _connect(path, busy_seconds)
    try:
        if (mode := _use_write_ahead_log(connection, busy_seconds)) != "wal":
            raise StoreFailed(
                f"The file system of {path} cannot share it between processes (journal mode {mode}).",
                suggestion="Set PORTICO_HOME to a folder on a local disk.",
            )
        # Each append says for itself whether it waits for the disk; preparing the file need not.
        connection.execute("PRAGMA synchronous = NORMAL")
        # A plain fsync on macOS stops at the drive's cache.
        connection.execute("PRAGMA fullfsync = ON")
        # What a person deletes shall not stay readable in the free pages of the file.
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    connection = _connect(path, busy_seconds)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)


def _use_write_ahead_log(connection: sqlite3.Connection, busy_seconds: float) -> str:
    """Set the mode in which readers and a writer share a file; returns the actual mode.

    The file remembers it, so only a fresh one changes. SQLite does not apply its busy timeout to
    that change, and several processes may create the file at once.
    """
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() >= deadline:
                raise
        time.sleep(_RETRY_SECONDS)


class ConnectionThread:
    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="portico-store")

    async def open(self) -> None:
        self._connection = await wait_for_result(self._executor.submit(self._translating, self._connect))
        self._file = _identity(self._path)

    def require_open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreFailed("The log is not open.")
        return self._connection

    def submit(self, work: Callable[[sqlite3.Connection], _Result]) -> Future[_Result]:
        """Queue work for the thread."""
        return self._executor.submit(self._translating, partial(work, self.require_open()))

    async def run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run work on the thread and wait for it. SQLite and system errors become StoreFailed."""
        return await wait_for_result(self.submit(work))

    async def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Like `run`, for work that changes the file. StoreFailed, and nothing is done, if the file was removed or replaced."""

        def in_place(connection: sqlite3.Connection) -> _Result:
            self.require_same_file()
            return work(connection)

        return await self.run(in_place)

    def require_same_file(self) -> None:
        """StoreFailed if the file was removed or replaced, because further writes would be lost with this process."""
        if _identity(self._path) != self._file:
            raise file_replaced(self._path)

    async def close(self) -> None:
        """Close the connection and the thread after all queued work. May be called again."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                await wait_for_result(self._executor.submit(self._translating, connection.close))
        finally:
            self._executor.shutdown(wait=False)

    def _translating(self, work: Callable[[], _Result]) -> _Result:
        try:
            return work()
        except FOREIGN as error:
            raise store_failure(error, self._path) from error


def _identity(path: Path) -> tuple[int, int] | None:
    """Identity of the file at a path; None if there is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


async def wait_for_result(job: Future[_Result]) -> _Result:
    """The result of work on a thread.

    When the caller is cancelled, work that has not started is dropped, and work that has started is finished before the
    cancellation continues.
    """
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        if not job.cancel():
            ended, _ = await asyncio.wait([asyncio.wrap_future(job)])
            for future in ended:
                future.exception()
        raise
