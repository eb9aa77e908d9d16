"""Event log in a PostgreSQL database that processes on several machines can open at once."""

import uuid
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import psycopg

from portico.domain.costs import Spending
from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.store.batches import advance_copy
from portico.store.checksums import next_checksum
from portico.store.postgres import queries
from portico.store.postgres.commits import DatabaseCommits
from portico.store.postgres.connection import Connection, DatabaseConnection
from portico.store.postgres.leases import DatabaseLease, DatabaseLeases
from portico.store.postgres.migrations import migrate, require_known_schema
from portico.store.postgres.nodes import DatabaseNodes
from portico.store.postgres.verification import find_problems
from portico.store.progress import LogLoss
from portico.store.rows import event_row
from portico.store.search_index import SearchIndex

_PATIENCE = 30.0
LEASE_SECONDS = 30.0
_BUSY_SECONDS = 5.0
_SHARDS = 64
_MOST_STARTS = 5


class PostgresStore:
    """Implements `sessions.ports.Store` in a database.

    The full-text index is made from the log and is kept in `folder` on this machine. `patience` is for how many seconds
    a lost database is waited for; a lease lasts `lease_seconds` after its process is gone. `node` is the name of this
    process, if it is a node.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        patience: float = _PATIENCE,
        lease_seconds: float = LEASE_SECONDS,
        node: str = "",
    ) -> None:
        self.losses: Sequence[LogLoss] = ()
        """Always empty: what a database has lost is known to its own tools."""
        self.damage: str | None = None
        owner = uuid.uuid4().hex
        self._url = url
        self._patience = patience
        self._shard = zlib.crc32(owner.encode()) % _SHARDS
        self._writer = DatabaseConnection(url, patience=patience)
        self._reader = DatabaseConnection(url, patience=patience)
        self._leases = DatabaseLeases(url, owner, seconds=lease_seconds, node=node)
        self._node_connection = DatabaseConnection(url, patience=patience)
        self._nodes = DatabaseNodes(self._node_connection, owner, seconds=lease_seconds)
        self._commits = DatabaseCommits(self._writer, self._leases, self._shard)
        self._search_index = SearchIndex(folder / "search-team.db", self, busy_seconds=_BUSY_SECONDS)

    @property
    def place(self) -> str:
        """The database of the log, without the secrets of its address."""
        named = psycopg.conninfo.conninfo_to_dict(self._url)
        return f"the database {named.get('dbname') or named.get('user')} on {named.get('host') or 'this machine'}"

    async def open(self) -> None:
        """Connect, and create or migrate the tables. StoreFailed if the database cannot be used."""
        try:
            await self._writer.open()
            await self._migrate()
            await self._reader.open()
            self._leases.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish queued work, release all leases, then disconnect. May be called again."""
        try:
            await self._commits.close()
            await self._leases.close()
            await self._search_index.close()
        finally:
            await self._node_connection.close()
            await self._reader.close()
            await self._writer.close()

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Every commit is durable, as far as the database is set up so."""
        if events:
            await self._commits.append(events)

    async def copy(self, source: SessionId, events: Sequence[Event]) -> None:
        async def work(connection: Connection) -> None:
            await require_known_schema(connection)
            rows = [event_row(event) for event in events]
            found = (await queries.stored_sessions(connection, [source], lock=True)).get(source)
            summary = advance_copy(source, None if found is None else found.summary, events)
            assert found is not None
            checksum = found.checksum
            for row in rows:
                checksum = next_checksum(checksum, row)
            number = await queries.insert_session(connection, summary, checksum)
            await queries.copy_events(connection, found.number, number)
            await queries.insert_events(connection, number, found.checksum, rows)
            await queries.count_change(connection, self._shard)

        await self._writer.run(work)

    async def read(
        self, session_id: SessionId, *, after_seq: int, limit: int, max_bytes: int | None = None
    ) -> list[Event]:
        return await self._reader.run(
            lambda connection: queries.read(connection, session_id, after_seq, limit, max_bytes)
        )

    async def tail(self, session_id: SessionId, *, before_seq: int | None, limit: int) -> list[Event]:
        return await self._reader.run(
            lambda connection: queries.tail(connection, session_id, before_seq, limit)
        )

    async def summary(self, session_id: SessionId) -> SessionSummary | None:
        found = await self._reader.run(lambda connection: queries.stored_sessions(connection, [session_id]))
        return found[session_id].summary if session_id in found else None

    async def standing(self, session_id: SessionId) -> list[Event]:
        return await self._reader.run(partial(queries.standing, session_id=session_id))

    async def permission_events(self, session_id: SessionId) -> list[Event]:
        return await self._reader.run(partial(queries.permission_events, session_id=session_id))

    async def generation(self) -> int:
        return await self._reader.run(queries.generation)

    async def draft(self, session_id: SessionId) -> SessionDraft:
        return await self._reader.run(partial(queries.draft, session_id=session_id))

    async def save_drafts(self, session_id: SessionId, draft: SessionDraft) -> None:
        async def work(connection: Connection) -> None:
            await require_known_schema(connection)
            await queries.save_draft(connection, session_id, draft)
            await queries.count_change(connection, self._shard)

        await self._writer.run(work)

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
        async def work(connection: Connection) -> bool:
            await require_known_schema(connection)
            deleted = await queries.delete(connection, session_id)
            await queries.count_change(connection, self._shard)
            return deleted

        deleted = await self._writer.run(work)
        await self._search_index.forget(session_id)
        return deleted

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._search_index.search(query)

    async def spending(self, *, since_ms: int = 0, session_id: SessionId | None = None) -> list[Spending]:
        find = partial(queries.spending, since_ms=since_ms, session_id=session_id)
        return await self._reader.run(find)

    async def index_for_search(self, *, seconds: float) -> int:
        return await self._search_index.follow(seconds=seconds)

    async def verify(self) -> list[str]:
        """Problems of the log. Others may write meanwhile."""
        connection = DatabaseConnection(self._url, patience=self._patience, snapshot=True)
        await connection.open()
        try:
            return await connection.run(find_problems)
        finally:
            await connection.close()

    async def accept_losses(self) -> None:
        """Nothing to accept: what a database has lost is known to its own tools."""

    async def lease(self, name: str, holder: str) -> DatabaseLease | None:
        return await self._leases.take(name, holder)

    async def lease_holder(self, name: str) -> str | None:
        return await self._leases.holder(name)

    async def open_nodes(self) -> DatabaseNodes:
        """The nodes of this database, on a connection of their own."""
        await self._node_connection.open()
        return self._nodes

    async def _migrate(self) -> None:
        for left in reversed(range(_MOST_STARTS)):
            try:
                await self._writer.run(migrate)
            except StoreFailed as failure:
                # Two processes that create the same table at once: one of them is refused.
                if not left or not isinstance(failure.__cause__, psycopg.errors.IntegrityError):
                    raise
            else:
                return
