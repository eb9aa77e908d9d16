"""Exclusive access to a session between two turns, to change its files and record that.

Whoever decides on changes is a writer like an agent: no turn of the session is under way meanwhile, here or in
another process, and nobody else writes the tree that is written.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from portico.domain.errors import SessionBusy
from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.log.recovery import append_events, session_lease_name
from portico.sessions.ports import Lease, Ports, tree_lease_name
from portico.sessions.service import SessionService

RecordEvents = Callable[..., Awaitable[None]]
"""Writes payloads down in the log of the session."""


@asynccontextmanager
async def idle_session(
    service: SessionService, ports: Ports, session_id: SessionId, *, writes_tree: bool
) -> AsyncIterator[RecordEvents]:
    """The session at rest. SessionBusy, with a way on, while it is in use, or its folder if that is written."""
    summary = await service.show(session_id)
    if service.is_busy(session_id):
        raise SessionBusy(
            f"Session {session_id} is in the middle of a turn.", suggestion="Wait for it, or stop it first."
        )
    async with AsyncExitStack() as held:
        record: RecordEvents = _OpenRecorder(service, session_id)
        if not service.is_open(session_id):
            held.callback(_take_session_lease(ports, session_id).release)
            record = closed = _ClosedRecorder(service, ports, session_id)
            held.push_async_callback(closed)
        if writes_tree:
            held.callback(take_tree_lease(ports, summary).release)
        yield record


class _OpenRecorder:
    def __init__(self, service: SessionService, session_id: SessionId) -> None:
        self._service = service
        self._session_id = session_id

    async def __call__(self, *payloads: AnyPayload) -> None:
        await self._service.record(self._session_id, *payloads)


class _ClosedRecorder:
    def __init__(self, service: SessionService, ports: Ports, session_id: SessionId) -> None:
        self._service = service
        self._ports = ports
        self._session_id = session_id

    async def __call__(self, *payloads: AnyPayload) -> None:
        told = (*self._service.notes.take(self._session_id), *payloads)
        if told:
            await append_events(self._ports.store, self._ports.clock, self._session_id, told)


def _take_session_lease(ports: Ports, session_id: SessionId) -> Lease:
    lease = ports.store.lease(session_lease_name(session_id), "review")
    if lease is None:
        raise SessionBusy(
            f"Session {session_id} is open in another Portico process.",
            suggestion="Decide there, or close it there first.",
        )
    return lease


def take_tree_lease(ports: Ports, summary: SessionSummary) -> Lease:
    """The right to write the tree of a session. SessionBusy while another session works there."""
    name = tree_lease_name(summary.workspace)
    lease = ports.store.lease(name, summary.session_id)
    if lease is None:
        holder = ports.store.lease_holder(name) or "another session"
        raise SessionBusy(
            f"Session {holder} is working in {summary.workspace}.",
            suggestion="Wait for it, or stop it first.",
        )
    return lease
