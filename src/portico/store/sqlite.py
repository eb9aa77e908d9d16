"""Event log in one SQLite file that several processes can open at once.

Writes and reads have a thread each, so that a slow commit blocks neither the event loop nor readers.
"""

import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from portico.domain.costs import Spending
from portico.domain.drafts import SessionDraft
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.files.leases import FileLease, FileLeases
from portico.files.private import make_private_folder
from portico.store import cost_queries, queries
from portico.store.connection import ConnectionThread, connect_reader, connect_writer
from portico.store.errors import DAMAGE_CODES, is_locked, library_code
from portico.store.group_commit import GroupCommit
from portico.store.migrations import migrate
from portico.store.progress import LogLoss, ProgressFile
from portico.store.search_index import SearchIndex
from portico.store.verification import find_problems

_BUSY_SECONDS = 5.0


class SqliteStore:
    """Implements `sessions.ports.Store` in `portico.db` of a folder, which is created if it does not exist."""

    def __init__(self, folder: Path, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        self._folder = folder
        self._path = folder / "portico.db"
        self._busy_seconds = busy_seconds
        self._leases = FileLeases(folder / "leases")
        self._writer = ConnectionThread(self._path, self._prepare)
        self._progress = ProgressFile(folder / "progress.ndjson")
        self._commits = GroupCommit(self._writer, self._path, self._progress)
        self._reader = ConnectionThread(self._path, self._connect_reader)
        self._search_index = SearchIndex(folder / "search.db", self, busy_seconds=busy_seconds)
        self.losses: Sequence[LogLoss] = ()
        """Losses that were found when the log was opened."""
        self.damage: str | None = None
        """Reason why losses could not be detected."""

    @property
    def place(self) -> str:
        """The folder of the log."""
        return str(self._folder)

    async def open(self) -> None:
        """Create or migrate the database. StoreFailed if it cannot be used."""
        try:
            await self._writer.open()
            await self._reader.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish queued work, then close the file. May be called again."""
        # The last connection to close empties the write-ahead log into the file; of two that close at once,
        # each takes the other for one that stays.
        try:
            await self._search_index.close()
            await self._reader.close()
        finally:
            await self._writer.close()

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        if events:
            await self._commits.append(events, durable=durable)

    async def copy(self, source: SessionId, events: Sequence[Event]) -> None:
        await self._writer.write(
            lambda connection: self._progress.add([queries.copy(connection, source, events)])
        )

    async def read(
        self, session_id: SessionId, *, after_seq: int, limit: int, max_bytes: int | None = None
    ) -> list[Event]:
        return await self._reader.run(
            partial(
                queries.read, session_id=session_id, after_seq=after_seq, limit=limit, max_bytes=max_bytes
            )
        )

    async def tail(self, session_id: SessionId, *, before_seq: int | None, limit: int) -> list[Event]:
        return await self._reader.run(
            partial(queries.tail, session_id=session_id, before_seq=before_seq, limit=limit)
        )

    async def summary(self, session_id: SessionId) -> SessionSummary | None:
        return await self._reader.run(partial(queries.summary, session_id=session_id))

    async def standing(self, session_id: SessionId) -> list[Event]:
        return await self._reader.run(partial(queries.standing, session_id=session_id))

    async def permission_events(self, session_id: SessionId) -> list[Event]:
        return await self._reader.run(partial(queries.permission_events, session_id=session_id))

    async def generation(self) -> int:
        return await self._reader.run(queries.generation)

    async def draft(self, session_id: SessionId) -> SessionDraft:
        return await self._reader.run(partial(queries.draft, session_id=session_id))

    async def save_drafts(self, session_id: SessionId, draft: SessionDraft) -> None:
        await self._writer.write(partial(queries.save_drafts, session_id=session_id, draft=draft))

    async def drafted(self) -> frozenset[SessionId]:
        return await self._reader.run(queries.drafted)

    async def summaries(
        self,
        *,
        workspace: str | None = None,
        id_prefix: str = "",
        search: str = "",
        before: SessionId | None = None,
        limit: int = 100,
    ) -> list[SessionSummary]:
        return await self._reader.run(
            partial(
                queries.summaries,
                workspace=workspace,
                id_prefix=id_prefix,
                search=search,
                before=before,
                limit=limit,
            )
        )

    async def active_sessions(self) -> list[SessionId]:
        return await self._reader.run(queries.active_sessions)

    async def delete(self, session_id: SessionId) -> bool:
        deleted = await self._writer.write(
            partial(queries.delete, session_id=session_id, progress=self._progress)
        )
        await self._search_index.forget(session_id)
        return deleted

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._search_index.search(query)

    async def spending(self, *, since_ms: int = 0, session_id: SessionId | None = None) -> list[Spending]:
        find = partial(cost_queries.spending, since_ms=since_ms, session_id=session_id)
        if session_id is not None:
            return await self._reader.run(find)
        # On a thread of its own: over a large log it takes a moment, and other reads should not wait.
        thread = ConnectionThread(self._path, self._connect_reader)
        await thread.open()
        try:
            return await thread.run(find)
        finally:
            await thread.close()

    async def index_for_search(self, *, seconds: float) -> int:
        return await self._search_index.follow(seconds=seconds)

    async def verify(self) -> list[str]:
        """Problems of the log and of the file itself. Others may write meanwhile."""
        thread = ConnectionThread(self._path, self._connect_reader)
        await thread.open()
        try:
            pages = await thread.run(partial(find_problems, progress=self._progress))
            problems: list[str] = []
            while (page := await thread.run(lambda _: next(pages, None))) is not None:
                problems += page
            return problems
        finally:
            await thread.close()

    async def accept_losses(self) -> None:
        await self._writer.write(lambda _: self._progress.accept())

    async def lease(self, name: str, holder: str) -> FileLease | None:
        return self._leases.take(name, holder)

    async def lease_holder(self, name: str) -> str | None:
        return self._leases.holder(name)

    def _prepare(self) -> sqlite3.Connection:
        make_private_folder(self._folder)
        connection = connect_writer(self._path, self._busy_seconds)
        try:
            migrate(connection)
            self._reconcile(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reconcile(self, connection: sqlite3.Connection) -> None:
        """Find losses by the progress record. `verify` finds other problems."""
        try:
            self.losses = self._progress.reconcile(connection)
        except OSError as error:
            self.damage = f"the record of how far the log was cannot be used: {error}"
        except sqlite3.DatabaseError as error:
            if library_code(error) in DAMAGE_CODES:
                self.damage = f"the file is damaged: {error}"
            elif not is_locked(error):  # The next process that opens the log looks again.
                raise

    def _connect_reader(self) -> sqlite3.Connection:
        return connect_reader(self._path, self._busy_seconds)
