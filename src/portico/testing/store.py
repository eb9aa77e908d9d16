"""In-memory twin of the event log, with a hook to hold or fail a write."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing

from portico.domain.costs import Spending
from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import (
    STATE_PAYLOADS,
    Event,
    PermissionRequested,
    PermissionResolved,
    SessionStarted,
)
from portico.domain.ids import SessionId
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.store import search_queries
from portico.store.batches import advance, advance_copy
from portico.store.cost_queries import fold_spending
from portico.store.rows import EventRow, event_of, event_row, limit_bytes
from portico.store.search_documents import documents_of
from portico.store.verification import SessionCheck

BeforeAppend = Callable[[Sequence[Event]], Awaitable[None]]


class MemoryStore:
    """Implements `sessions.ports.Store`. Events go through JSON, as they do on the way to a disk.

    `before_append` is awaited with each batch before it is written: a test can hold the write
    there, look at what is shown meanwhile, or raise StoreFailed as a full disk would.
    """

    def __init__(self) -> None:
        self.before_append: BeforeAppend | None = None
        self._summaries: dict[SessionId, SessionSummary] = {}
        self._rows: dict[SessionId, list[EventRow]] = {}
        self._holders: dict[str, str] = {}
        self._drafts: dict[SessionId, SessionDraft] = {}
        self._generation = 0

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        if not events:
            return
        if self.before_append is not None:
            await self.before_append(events)
        session_id = events[0].session_id
        rows = [event_row(event) for event in events]
        self._summaries[session_id] = advance(self._summaries.get(session_id), events)
        self._rows.setdefault(session_id, []).extend(rows)
        self._generation += 1

    async def copy(self, source: SessionId, events: Sequence[Event]) -> None:
        target = events[0].session_id
        if target in self._summaries:
            raise StoreFailed(f"There is a session {target} already.")
        rows = [event_row(event) for event in events]
        self._summaries[target] = advance_copy(source, self._summaries.get(source), events)
        self._rows[target] = [*self._rows[source], *rows]
        self._generation += 1

    async def read(
        self, session_id: SessionId, *, after_seq: int, limit: int, max_bytes: int | None = None
    ) -> list[Event]:
        start = max(after_seq, 0)
        rows = self._rows.get(session_id, [])[start : start + max(limit, 0)]
        return [event_of(session_id, row) for row in limit_bytes(rows, max_bytes)]

    async def tail(self, session_id: SessionId, *, before_seq: int | None, limit: int) -> list[Event]:
        rows = self._rows.get(session_id, [])
        end = len(rows) if before_seq is None else min(max(before_seq - 1, 0), len(rows))
        return [event_of(session_id, row) for row in rows[max(end - max(limit, 0), 0) : end]]

    async def summary(self, session_id: SessionId) -> SessionSummary | None:
        return self._summaries.get(session_id)

    async def standing(self, session_id: SessionId) -> list[Event]:
        last = {row.kind: row for row in self._rows.get(session_id, [])}
        return [event_of(session_id, last[kind.kind]) for kind in STATE_PAYLOADS if kind.kind in last]

    async def permission_events(self, session_id: SessionId) -> list[Event]:
        kinds = {PermissionRequested.kind, PermissionResolved.kind, SessionStarted.kind}
        rows = self._rows.get(session_id, [])
        return [event_of(session_id, row) for row in rows if row.kind in kinds]

    async def generation(self) -> int:
        return self._generation

    async def draft(self, session_id: SessionId) -> SessionDraft:
        return self._drafts.get(session_id, SessionDraft())

    async def save_drafts(self, session_id: SessionId, draft: SessionDraft) -> None:
        self._generation += 1
        self._drafts.pop(session_id, None)
        if not draft.empty and session_id in self._summaries:
            self._drafts[session_id] = draft

    async def drafted(self) -> frozenset[SessionId]:
        return frozenset(self._drafts)

    async def summaries(
        self,
        *,
        workspace: str | None = None,
        id_prefix: str = "",
        search: str = "",
        before: SessionId | None = None,
        limit: int = 100,
    ) -> list[SessionSummary]:
        words = search.lower().split()
        found = [
            summary
            for summary in self._summaries.values()
            if workspace in (None, summary.workspace)
            and summary.session_id.startswith(id_prefix)
            and all(word in f"{summary.title} {summary.workspace} {summary.agent}".lower() for word in words)
        ]
        found.sort(key=lambda summary: (summary.updated_at, summary.session_id), reverse=True)
        if before is not None:
            places = [place for place, one in enumerate(found) if one.session_id == before]
            found = found[places[0] + 1 :] if places else []
        return found[: max(limit, 0)]

    async def search(self, query: SearchQuery) -> SearchPage:
        """By the real index, of which a copy in memory is made for each search."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        with closing(connection):
            search_queries.prepare(connection)
            for session_id, summary in self._summaries.items():
                documents = list(documents_of([event_of(session_id, row) for row in self._rows[session_id]]))
                search_queries.add(
                    connection,
                    summary,
                    documents,
                    after_seq=0,
                    indexed_to=summary.last_seq,
                    seen_to=summary.last_seq,
                )
            return search_queries.find(connection, query, pending=0)

    async def spending(self, *, since_ms: int = 0, session_id: SessionId | None = None) -> list[Spending]:
        found = [one for name, one in self._summaries.items() if session_id in (None, name)]
        return fold_spending(((one, self._rows[one.session_id]) for one in found), since_ms)

    async def index_for_search(self, *, seconds: float) -> int:
        return 0

    async def active_sessions(self) -> list[SessionId]:
        return sorted(session_id for session_id, summary in self._summaries.items() if summary.state.active)

    async def delete(self, session_id: SessionId) -> bool:
        self._generation += 1
        self._rows.pop(session_id, None)
        self._drafts.pop(session_id, None)
        return self._summaries.pop(session_id, None) is not None

    async def verify(self) -> list[str]:
        problems: list[str] = []
        for session_id, summary in self._summaries.items():
            check = SessionCheck(session_id)
            for row in self._rows[session_id]:
                check.follow(row)
            problems += check.problems(summary)
        return problems

    async def accept_losses(self) -> None:
        """Nothing to do: this store loses nothing."""

    async def lease(self, name: str, holder: str) -> "MemoryLease | None":
        if name in self._holders:
            return None
        self._holders[name] = holder
        return MemoryLease(self._holders, name)

    def forget_leases(self) -> None:
        """Free every lease, as the kernel does when the process that holds them dies."""
        self._holders.clear()

    async def lease_holder(self, name: str) -> str | None:
        return self._holders.get(name)


class MemoryLease:
    is_lost = False

    def __init__(self, holders: dict[str, str], name: str) -> None:
        self._holders = holders
        self._name = name
        self._held = True

    def release(self) -> None:
        if self._held:
            self._held = False
            self._holders.pop(self._name, None)
