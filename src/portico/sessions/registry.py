"""Registry of sessions open in this process, each guarded by a lease; each opening is a `session_started`."""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from portico.domain.events import AnyPayload, Event, SessionStarted
from portico.domain.ids import SessionId, make_session_id
from portico.domain.session_summary import fold
from portico.sessions.agent.pool import AgentPool
from portico.sessions.leases import session_holder, session_runner, take_session_lease
from portico.sessions.log.journal import Journal
from portico.sessions.log.recovery import interrupt
from portico.sessions.lookup import show
from portico.sessions.open_session import OpenSession
from portico.sessions.ports import AgentSpec, Lease, Ports
from portico.sessions.runtime import SessionRuntime

MAX_PENDING = 1_000


class PendingEvents:
    """Events for sessions that may be closed; those of a closed session are kept until it is opened."""

    def __init__(self, find_journal: Callable[[SessionId], Journal | None]) -> None:
        self._find_journal = find_journal
        self._pending: dict[SessionId, deque[AnyPayload]] = {}

    def add(self, session_id: SessionId, payload: AnyPayload) -> None:
        """Add an event to the log of a session soon. Implements `sessions.windows.RecordWindowEvent`."""
        journal = self._find_journal(session_id)
        if journal is not None:
            journal.record(payload)
        else:
            self._pending.setdefault(session_id, deque(maxlen=MAX_PENDING)).append(payload)

    def take(self, session_id: SessionId) -> tuple[AnyPayload, ...]:
        """Remove and return the events of a session, for the caller to write."""
        return tuple(self._pending.pop(session_id, ()))


class SessionRegistry:
    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._pool = AgentPool(ports)
        self._holder = session_runner()
        """Holder of the leases of this process, by which it knows its own."""
        self._open: dict[SessionId, OpenSession] = {}
        self.pending_events = PendingEvents(self._find_journal)

    async def begin(self, started: SessionStarted, spec: AgentSpec, *more: AnyPayload) -> SessionId:
        """Create a session with this first event, and more events in the same commit."""
        clock = self._ports.clock
        session_id = make_session_id(clock.now_ms(), os.urandom(8))
        lease = await self.lease(session_id)
        now = clock.now_ms()
        first = [
            Event(session_id=session_id, seq=seq, turn_id=None, at=now, payload=payload)
            for seq, payload in enumerate((started, *more), start=1)
        ]
        try:
            await self._ports.store.append(first, durable=True)
        except BaseException:
            lease.release()
            raise
        summary = fold(None, first[0])
        for event in first[1:]:
            summary = fold(summary, event)
        self._add(SessionRuntime(summary, spec, lease, self._ports, self._pool))
        return session_id

    async def reopen(self, session_id: SessionId, spec: AgentSpec) -> int:
        """Open a session from the log; the seq of the `session_started` this adds."""
        if (session := self._open.get(session_id)) is not None:
            return session.last_seq
        lease = await self.lease(session_id)
        try:
            await interrupt(self._ports, session_id)
            summary = await show(self._ports.store, session_id)
            runtime = SessionRuntime(summary, spec, lease, self._ports, self._pool)
            await runtime.journal.commit(runtime.started_event())
        except BaseException:
            lease.release()
            raise
        self._add(runtime)
        return runtime.journal.committed_seq

    async def lease(self, session_id: SessionId) -> Lease:
        """Lease a session's log. SessionBusy while another process has the session open."""
        return await take_session_lease(self._ports.store, session_id, self._holder)

    async def is_elsewhere(self, session_id: SessionId) -> bool:
        """Whether another process has the session open."""
        return await session_holder(self._ports.store, session_id) not in (None, self._holder)

    def ids(self) -> list[SessionId]:
        return list(self._open)

    def find(self, session_id: SessionId) -> OpenSession | None:
        return self._open.get(session_id)

    def take(self, session_id: SessionId) -> OpenSession | None:
        """Remove and return a session, for the caller to close."""
        return self._open.pop(session_id, None)

    def take_all(self) -> list[OpenSession]:
        sessions, self._open = list(self._open.values()), {}
        return sessions

    def _add(self, runtime: SessionRuntime) -> None:
        writer = asyncio.create_task(runtime.journal.run(), name=f"writing the log of {runtime.id}")
        self._open[runtime.id] = OpenSession(runtime, writer)
        for payload in self.pending_events.take(runtime.id):
            runtime.journal.record(payload)

    def _find_journal(self, session_id: SessionId) -> Journal | None:
        session = self._open.get(session_id)
        return None if session is None else session.runtime.journal
