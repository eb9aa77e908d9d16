"""Registry of sessions open in this process, each guarded by a lease.

Whoever has a session holds its lease, and the log says since when: each opening is a `session_started`.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from portico.domain.errors import SessionBusy, SessionNotFound
from portico.domain.events import AnyPayload, Event, SessionStarted
from portico.domain.ids import SessionId, make_session_id
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import fold
from portico.sessions.agent.pool import AgentPool
from portico.sessions.log.journal import Journal
from portico.sessions.log.recovery import interrupt, session_lease_name
from portico.sessions.lookup import show
from portico.sessions.ports import AgentSpec, Lease, Ports
from portico.sessions.runtime import SessionRuntime
from portico.sessions.session import Session

MOST_KEPT = 1_000


class PendingEvents:
    def __init__(self, journal_of: Callable[[SessionId], Journal | None]) -> None:
        self._journal_of = journal_of
        self._kept: dict[SessionId, deque[AnyPayload]] = {}

    def tell(self, session_id: SessionId, payload: AnyPayload) -> None:
        """Add to the log of a session soon. Implements `sessions.windows.Tell`."""
        journal = self._journal_of(session_id)
        if journal is not None:
            journal.record(payload)
        else:
            self._kept.setdefault(session_id, deque(maxlen=MOST_KEPT)).append(payload)

    def take(self, session_id: SessionId) -> tuple[AnyPayload, ...]:
        """What was kept for a session, to be written down by whoever asks."""
        return tuple(self._kept.pop(session_id, ()))


class SessionRegistry:
    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._links = AgentPool(ports)
        # What the leases of this host say of their holder: a host knows its own.
        self._name = f"host {os.urandom(8).hex()}"
        self._open: dict[SessionId, Session] = {}
        self.notes = PendingEvents(self._journal)

    async def begin(self, started: SessionStarted, spec: AgentSpec) -> SessionId:
        """Have a new session, which begins with this."""
        clock = self._ports.clock
        session_id = make_session_id(clock.now_ms(), os.urandom(8))
        lease = self.lease(session_id)
        first = Event(session_id=session_id, seq=1, turn_id=None, at=clock.now_ms(), payload=started)
        try:
            await self._ports.store.append([first], durable=True)
        except BaseException:
            lease.release()
            raise
        self._admit(SessionRuntime(fold(None, first), spec, lease, self._ports, self._links))
        return session_id

    async def reopen(self, session_id: SessionId, spec: AgentSpec) -> int:
        """Have a session from the log; the seq of the `session_started` this adds. SessionBusy if another has it."""
        if (opened := self._open.get(session_id)) is not None:
            return opened.session.journal.committed_seq
        lease = self.lease(session_id)
        try:
            await interrupt(self._ports, session_id)
            summary = await show(self._ports.store, session_id)
            session = SessionRuntime(summary, spec, lease, self._ports, self._links)
            await session.journal.commit(
                self.started(
                    summary.workspace, spec, summary.mode, reads_only=summary.reads_only, continued=True
                )
            )
        except BaseException:
            lease.release()
            raise
        self._admit(session)
        return session.journal.committed_seq

    def started(
        self, workspace: str, spec: AgentSpec, mode: ReviewMode, *, reads_only: bool, continued: bool
    ) -> SessionStarted:
        """What the log is told when a session begins, or goes on in another way."""
        return SessionStarted(
            workspace=workspace,
            agent=spec.name,
            agent_command=spec.command,
            mode=mode,
            reads_only=reads_only,
            continued=continued,
            portico_version=self._ports.version,
        )

    def lease(self, session_id: SessionId) -> Lease:
        """The right to write a session's log. SessionBusy while another process has it."""
        lease = self._ports.store.lease(session_lease_name(session_id), self._name)
        if lease is None:
            raise SessionBusy(
                f"Session {session_id} is open in another Portico process.",
                suggestion="Close it there first, or start a new session.",
            )
        return lease

    def is_elsewhere(self, session_id: SessionId) -> bool:
        """Whether another process has it."""
        return self._ports.store.lease_holder(session_lease_name(session_id)) not in (None, self._name)

    def ids(self) -> list[SessionId]:
        return list(self._open)

    def find(self, session_id: SessionId) -> Session | None:
        return self._open.get(session_id)

    def require(self, session_id: SessionId) -> Session:
        opened = self._open.get(session_id)
        if opened is None:
            raise SessionNotFound(f"Session {session_id} is not open here.")
        return opened

    def take(self, session_id: SessionId) -> Session | None:
        """What was open, which its taker dismisses."""
        return self._open.pop(session_id, None)

    def take_all(self) -> list[Session]:
        opened, self._open = list(self._open.values()), {}
        return opened

    def _admit(self, session: SessionRuntime) -> None:
        writing = asyncio.create_task(session.journal.run(), name=f"writing the log of {session.id}")
        self._open[session.id] = Session(session, writing)
        for payload in self.notes.take(session.id):
            session.journal.record(payload)

    def _journal(self, session_id: SessionId) -> Journal | None:
        opened = self._open.get(session_id)
        return None if opened is None else opened.session.journal
