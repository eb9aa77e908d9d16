"""List of sessions, paged and watched for changes made by any process."""

import logging
from collections.abc import AsyncGenerator

import msgspec

from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.domain.search import SearchPage, SearchQuery
from portico.domain.session_summary import SessionSummary
from portico.domain.values import SandboxStatus
from portico.sessions.ports import Clock, Store
from portico.sessions.service import SessionService

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
BUSY_SECONDS = 2.0
"""Shortest time between two updates of an entry of which only times have changed."""
MOST_WATCHED = 200


class SessionListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Entry of the list: summary, whether there is a draft, and the numbers of queued prompts and open requests.

    `sandbox` is set while the agent runs in this process.
    """

    summary: SessionSummary
    drafted: bool
    queued: int
    waiting: int
    sandbox: SandboxStatus | None = None
    pinned: bool = False

    def looks_like(self, other: "SessionListEntry") -> bool:
        """Whether both look the same, apart from the time of the last change."""
        return _without_times(self) == _without_times(other)


class RemovedSession(msgspec.Struct, frozen=True):
    session_id: SessionId


class SessionList:
    def __init__(self, service: SessionService, store: Store, clock: Clock) -> None:
        self._service = service
        self._store = store
        self._clock = clock

    async def page(
        self, *, workspace: str | None, search: str, before: SessionId | None, limit: int
    ) -> list[SessionListEntry]:
        """Sessions by their last change, newest first. The first page begins with older ones that are pinned."""
        drafted = await self._store.drafted()
        found = await self._store.summaries(workspace=workspace, search=search, before=before, limit=limit)
        listed = [await self._listed(summary, drafted) for summary in found]
        if before is not None or search:
            return listed
        return [*await self._older_pinned(workspace, drafted, {one.session_id for one in found}), *listed]

    async def _older_pinned(
        self, workspace: str | None, drafted: frozenset[SessionId], known: set[SessionId]
    ) -> list[SessionListEntry]:
        pinned = []
        for session_id in sorted(drafted - known):
            if (await self._draft(session_id)).pinned:
                summary = await self._store.summary(session_id)
                if summary is not None and workspace in (None, summary.workspace):
                    pinned.append(await self._listed(summary, drafted))
        return pinned

    async def entry(self, summary: SessionSummary) -> SessionListEntry:
        """The entry of one session."""
        return await self._listed(summary, await self._store.drafted())

    async def search(self, query: SearchQuery) -> tuple[SearchPage, list[SessionListEntry]]:
        """Messages that match, and their sessions."""
        page = await self._store.search(query)
        drafted = await self._store.drafted()
        names = dict.fromkeys(hit.session_id for hit in page.hits)
        found = [await self._store.summary(name) for name in names]
        return page, [await self._listed(summary, drafted) for summary in found if summary is not None]

    async def watch(self, *, workspace: str | None) -> AsyncGenerator[SessionListEntry | RemovedSession]:
        """The latest sessions as they are now, then each change, until the caller leaves."""
        watcher = _ListWatcher()
        generation = None
        while True:
            seen = await self._store.generation()
            if seen != generation or watcher.behind:
                found = await self.page(workspace=workspace, search="", before=None, limit=MOST_WATCHED)
                for listed in watcher.changes(found, self._clock.monotonic()):
                    yield listed
                for session_id in watcher.forget_all_but(found):
                    # A session that only fell behind the newest is yielded again when it changes.
                    if await self._store.summary(session_id) is None:
                        yield RemovedSession(session_id)
            generation = seen
            await self._clock.sleep(LOOK_SECONDS)

    async def _listed(self, summary: SessionSummary, drafted: frozenset[SessionId]) -> SessionListEntry:
        session_id = summary.session_id
        session = self._service.find_session(session_id)
        draft = await self._draft(session_id) if session_id in drafted else SessionDraft()
        return SessionListEntry(
            summary=summary,
            drafted=draft.drafted,
            queued=len(draft.queue),
            waiting=0 if session is None else session.open_requests,
            sandbox=None if session is None else session.sandbox,
            pinned=draft.pinned,
        )

    async def _draft(self, session_id: SessionId) -> SessionDraft:
        """The draft; an empty one if it cannot be read, which opening the session reports."""
        try:
            return await self._store.draft(session_id)
        except StoreFailed as failure:
            log.debug("listed without its draft: %s", failure.message)
            return SessionDraft()


class _ListWatcher:
    """The entries that one watcher of the list has seen, and when."""

    def __init__(self) -> None:
        self.behind = False
        """Whether it has not seen a change yet, because the entry changes too often."""
        self._lines: dict[SessionId, tuple[SessionListEntry, float]] = {}

    def changes(self, found: list[SessionListEntry], now: float) -> list[SessionListEntry]:
        """The entries that the watcher has to see, newest last."""
        changes: list[SessionListEntry] = []
        self.behind = False
        for one in reversed(found):
            before, at = self._lines.get(one.summary.session_id, (None, 0.0))
            if before == one:
                continue
            if before is None or not one.looks_like(before) or now - at >= BUSY_SECONDS:
                self._lines[one.summary.session_id] = (one, now)
                changes.append(one)
            else:
                self.behind = True
        return changes

    def forget_all_but(self, found: list[SessionListEntry]) -> list[SessionId]:
        """Forget and return the sessions that are no longer found."""
        here = {one.summary.session_id for one in found}
        gone = [session_id for session_id in self._lines if session_id not in here]
        for session_id in gone:
            del self._lines[session_id]
        return gone


def _without_times(listed: SessionListEntry) -> SessionListEntry:
    summary = msgspec.structs.replace(listed.summary, updated_at=0, last_seq=0)
    return msgspec.structs.replace(listed, summary=summary)
