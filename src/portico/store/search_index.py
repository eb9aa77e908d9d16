"""Full-text index of the log, in a file of its own beside it.

The index is made from the log and can be made again: appending an event does not wait for it, and a damaged one is
thrown away. It follows the log when it is asked to, in small steps, so that nothing else waits for long.
"""

import asyncio
import sqlite3
import time
from functools import partial
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.sessions.ports import Store
from portico.store import search_queries
from portico.store.connection import ConnectionThread, connect_writer
from portico.store.search_documents import SearchDocument, documents_of

_PAGE_EVENTS = 2_000
_PAGE_BYTES = 500_000
_PAGE_SESSIONS = 200
_SEARCH_SECONDS = 0.1
"""Time that a search spends on indexing new events first."""


class SearchIndex:
    def __init__(self, path: Path, log: Store, *, busy_seconds: float) -> None:
        self._path = path
        self._log = log
        self._busy_seconds = busy_seconds
        self._thread: ConnectionThread | None = None
        self._following = asyncio.Lock()
        self._knows_all = False
        """Whether every session of the log was compared with the index once."""

    async def search(self, query: SearchQuery) -> SearchPage:
        try:
            return await self._search(query)
        except StoreFailed as failure:
            if not _is_damage(failure.__cause__):
                raise
        await self.close()
        self._remove()
        return await self._search(query)

    async def _search(self, query: SearchQuery) -> SearchPage:
        pending = await self.follow(seconds=_SEARCH_SECONDS)
        thread = await self._open()
        return await thread.run(partial(search_queries.find, query=query, pending=pending))

    async def follow(self, *, seconds: float) -> int:
        """Index what is new in the log for some time; returns the number of events that still wait."""
        async with self._following:
            return await self._follow(seconds)

    async def forget(self, session_id: SessionId) -> None:
        """Remove a session that was deleted from the log."""
        if self._path.exists():
            thread = await self._open()
            await thread.run(partial(search_queries.forget, sessions=[session_id]))

    async def close(self) -> None:
        """May be called again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.close()

    async def _follow(self, seconds: float) -> int:
        thread = await self._open()
        seen = await thread.run(search_queries.seen)
        stale = await self._find_stale(thread, seen)
        deadline = time.monotonic() + seconds
        while stale and time.monotonic() < deadline:
            if await self._index_page(thread, stale[-1]):
                stale.pop()
        seen = await thread.run(search_queries.seen) if stale else seen
        return sum(summary.last_seq - seen.get(summary.session_id, 0) for summary in stale)

    async def _find_stale(self, thread: ConnectionThread, seen: dict[SessionId, int]) -> list[SessionSummary]:
        """Sessions with events that were not looked at, newest last."""
        stale: list[SessionSummary] = []
        known: set[SessionId] = set()
        before: SessionId | None = None
        while page := await self._log.summaries(before=before, limit=_PAGE_SESSIONS):
            new = [summary for summary in page if seen.get(summary.session_id) != summary.last_seq]
            stale += new
            known.update(summary.session_id for summary in page)
            before = page[-1].session_id
            if self._knows_all and not new:
                break
        else:
            # A process may have been killed between deleting a session and forgetting it here.
            await thread.run(partial(search_queries.forget, sessions=seen.keys() - known))
        self._knows_all = True
        stale.reverse()
        return stale

    async def _index_page(self, thread: ConnectionThread, summary: SessionSummary) -> bool:
        """Index the next events of a session; whether that was all of it."""
        session_id = summary.session_id
        start = await thread.run(partial(search_queries.indexed_seq, session_id=session_id))
        events = await self._log.read(session_id, after_seq=start, limit=_PAGE_EVENTS, max_bytes=_PAGE_BYTES)
        is_last = not events or events[-1].seq >= summary.last_seq
        documents = list(documents_of(events))
        end = events[-1].seq if events else start
        # A message that fills a page is indexed in parts.
        fills_page = not is_last and documents and documents[-1].seq == events[0].seq
        is_open = summary.state.active or not is_last
        if documents and not fills_page and _may_continue(documents[-1], end, is_open=is_open):
            end = documents.pop().seq - 1
        add = partial(
            search_queries.add,
            summary=summary,
            documents=documents,
            after_seq=start,
            indexed_to=end,
            seen_to=max(summary.last_seq, end) if is_last else end,
        )
        await thread.run(add)
        return is_last

    async def _open(self) -> ConnectionThread:
        if self._thread is None:
            thread = ConnectionThread(self._path, self._connect)
            await thread.open()
            self._thread = thread
        return self._thread

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._prepared()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._remove()
        return self._prepared()

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _prepared(self) -> sqlite3.Connection:
        connection = connect_writer(self._path, self._busy_seconds)
        try:
            if not search_queries.prepare(connection):
                raise sqlite3.DatabaseError("made by another version")
        except BaseException:
            connection.close()
            raise
        return connection


def _may_continue(document: SearchDocument, end: int, *, is_open: bool) -> bool:
    return is_open and document.last_seq == end and document.kind in ("answer", "thought")


def _is_damage(error: BaseException | None) -> bool:
    """Whether the file has to be made again. An operational error is about a lock, the disk or the library."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
