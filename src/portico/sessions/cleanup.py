"""Releases idle sessions, deletes unused ones, and drops queued prompts that were already sent.

A session that is idle and not watched releases its agent and its lease; it is opened again when needed. An empty
one is deleted after a while, so that a page that is reloaded, or reconnects after a restart, still finds it.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from portico.domain.drafts import QueuedPrompt
from portico.domain.errors import PorticoError, StoreFailed
from portico.domain.events import PromptSubmitted, TodosUpdated
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.drafts import Drafts
from portico.sessions.log.hand_off import FIRST_EVENTS, find_hand_off
from portico.sessions.ports import Clock, Store
from portico.sessions.service import SessionService
from portico.sessions.turn_queue import TurnQueue

log = logging.getLogger(__name__)

IDLE_SECONDS = 15 * 60.0
LINGER_SECONDS = 60.0
LOOK_SECONDS = 15.0
_PAGE = 500


class SessionCleanup:
    def __init__(
        self, service: SessionService, turn_queue: TurnQueue, drafts: Drafts, store: Store, clock: Clock
    ) -> None:
        self._service = service
        self._turn_queue = turn_queue
        self._drafts = drafts
        self._store = store
        self._clock = clock
        self._watchers: Counter[SessionId] = Counter()
        self._in_use: dict[SessionId, float] = {}
        """Time at which each open session was last watched or in a turn."""
        self._left: dict[SessionId, float] = {}
        """Since when each session that may be empty is no longer watched."""

    @contextmanager
    def watching(self, session_id: SessionId) -> Iterator[None]:
        """Count a watcher of a session while the context is open."""
        self._watchers[session_id] += 1
        self._left.pop(session_id, None)
        try:
            yield
        finally:
            self._watchers[session_id] -= 1
            if not self._watchers[session_id]:
                del self._watchers[session_id]
                self._left[session_id] = self._in_use[session_id] = self._clock.monotonic()

    async def begin(self) -> None:
        """Clean up what an earlier server left behind. Call before the first request."""
        for session_id in await self._store.drafted():
            try:
                await self._clear_sent(session_id)
            except StoreFailed as error:
                # The others can still be cleaned up; opening this one reports the failure.
                log.warning("the queue of session %s was not cleaned up: %s", session_id, error.message)
        now = self._clock.monotonic()
        before: SessionId | None = None
        while page := await self._store.summaries(before=before, limit=_PAGE):
            self._left |= {one.session_id: now for one in page if one.last_turn is None}
            before = page[-1].session_id

    async def run(self) -> None:
        """Clean up periodically, until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await self._release_idle()
                await self._delete_unused()
            except PorticoError as error:
                log.warning("sessions were not cleaned up: %s", error.message)

    async def _release_idle(self) -> None:
        now, open_here = self._clock.monotonic(), self._service.open_sessions()
        self._in_use = {name: at for name, at in self._in_use.items() if name in open_here}
        for session_id in open_here:
            if session_id in self._watchers or self._turn_queue.has_turn(session_id):
                self._in_use[session_id] = now
            elif now - self._in_use.setdefault(session_id, now) >= IDLE_SECONDS:
                await self._turn_queue.release(session_id)

    async def _delete_unused(self) -> None:
        now = self._clock.monotonic()
        for session_id in [name for name, at in self._left.items() if now - at >= LINGER_SECONDS]:
            summary = await self._store.summary(session_id)
            unused = summary is not None and await self._is_unused(summary)
            if session_id in self._watchers or self._left.pop(session_id, None) is None or not unused:
                continue
            try:
                await self._turn_queue.delete(session_id)
            except PorticoError as error:
                log.info("the empty session %s was not deleted: %s", session_id, error.message)

    async def _is_unused(self, summary: SessionSummary) -> bool:
        """Whether nothing was ever sent, typed, queued or noted in a session."""
        session_id = summary.session_id
        if summary.last_turn is not None or self._turn_queue.has_turn(session_id):
            return False
        if find_hand_off(await self._store.read(session_id, after_seq=0, limit=FIRST_EVENTS)) is not None:
            return False
        noted = any(
            isinstance(event.payload, TodosUpdated) for event in await self._store.standing(session_id)
        )
        return not noted and (await self._drafts.get(session_id)).empty

    async def _clear_sent(self, session_id: SessionId) -> None:
        for queued in (await self._drafts.get(session_id)).queue:
            if await self._was_sent(session_id, queued):
                await self._drafts.remove_queued(session_id, queued.prompt_id)

    async def _was_sent(self, session_id: SessionId, queued: QueuedPrompt) -> bool:
        after_seq = queued.after_seq
        while page := await self._store.read(session_id, after_seq=after_seq, limit=_PAGE):
            for event in page:
                payload = event.payload
                if isinstance(payload, PromptSubmitted) and payload.prompt_id == queued.prompt_id:
                    return True
            after_seq = page[-1].seq
        return False
