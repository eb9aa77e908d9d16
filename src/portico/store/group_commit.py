"""Group commit: appends that wait at the same time share one transaction, each with its own outcome.

A commit on a busy disk takes many milliseconds, however much it contains. Batches that arrive meanwhile share the next
one. Only one commit is queued at a time, so that other work of the thread waits for at most one.
"""

import sqlite3
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.domain.events import Event
from portico.store import queries
from portico.store.connection import ConnectionThread, wait_for_result
from portico.store.errors import FOREIGN, is_locked, store_failure
from portico.store.progress import LogExtent, ProgressFile


class _WaitingBatch:
    def __init__(self, events: Sequence[Event], *, durable: bool) -> None:
        self.events = events
        self.durable = durable
        self.outcome: Future[None] = Future()


class GroupCommit:
    def __init__(self, thread: ConnectionThread, path: Path, progress: ProgressFile) -> None:
        self._thread = thread
        self._path = path
        self._progress = progress
        self._waiting: deque[_WaitingBatch] = deque()
        self._asked = False

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Write the batch together with others that wait; returns or raises its outcome.

        If the caller is cancelled before its batch is being written, the batch is dropped.
        """
        self._thread.require_open()
        waiting = _WaitingBatch(events, durable=durable)
        self._waiting.append(waiting)
        if not self._asked:
            self._asked = True
            self._thread.submit(self._commit_all_waiting)
        await wait_for_result(waiting.outcome)

    def _commit_all_waiting(self, connection: sqlite3.Connection) -> None:
        """Runs on the thread. Batches that arrive after the first line queue another commit."""
        self._asked = False
        group: list[_WaitingBatch] = []
        while self._waiting:
            waiting = self._waiting.popleft()
            if waiting.outcome.set_running_or_notify_cancel():
                group.append(waiting)
        if group:
            self._commit(connection, group)

    def _commit(self, connection: sqlite3.Connection, group: Sequence[_WaitingBatch]) -> None:
        try:
            self._thread.require_same_file()
            outcomes = queries.append(
                connection,
                [waiting.events for waiting in group],
                durable=any(waiting.durable for waiting in group),
            )
            self._progress.add(one for one in outcomes if isinstance(one, LogExtent))
        except FOREIGN as error:
            # One batch may be too large for the disk and the rest not; a lock fails them all.
            if len(group) > 1 and not is_locked(error):
                for waiting in group:
                    self._commit(connection, [waiting])
                return
            for waiting in group:
                waiting.outcome.set_exception(store_failure(error, self._path))
        except BaseException as error:
            for waiting in group:
                waiting.outcome.set_exception(error)
            raise
        else:
            for waiting, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, StoreFailed):
                    waiting.outcome.set_exception(outcome)
                else:
                    waiting.outcome.set_result(None)
