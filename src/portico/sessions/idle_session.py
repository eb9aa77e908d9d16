"""Exclusive access to a session between two turns, to change its files and record that.

No turn of the session runs meanwhile, here or in another process, and no other session writes the tree if it is
written.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from portico.domain.errors import SessionBusy
from portico.domain.events import AnyPayload
from portico.domain.ids import SessionId
from portico.sessions.leases import take_session_lease, take_tree_lease
from portico.sessions.log.recovery import append_events
from portico.sessions.ports import Ports
from portico.sessions.service import SessionService

RecordEvents = Callable[..., Awaitable[None]]
"""Writes payloads to the log of the session."""


@asynccontextmanager
async def idle_session(
    service: SessionService, ports: Ports, session_id: SessionId, *, writes_tree: bool
) -> AsyncIterator[RecordEvents]:
    """Hold a session that has no turn. SessionBusy while it is in use, or its folder if that is written."""
    summary = await service.show(session_id)
    session = service.find_session(session_id)
    if session is not None and session.is_busy:
        raise SessionBusy.in_turn(session_id)
    async with AsyncExitStack() as held:
        record: RecordEvents
        if session is not None:
            record = _OpenRecorder(service, session_id)
        else:
            lease = await take_session_lease(
                ports.store, session_id, "review", suggestion="Decide there, or close it there first."
            )
            held.callback(lease.release)
            record = closed = _ClosedRecorder(service, ports, session_id)
            held.push_async_callback(closed)
        if writes_tree:
            tree = await take_tree_lease(ports.store, session_id, summary.workspace)
            held.callback(tree.release)
        yield record


class _OpenRecorder:
    def __init__(self, service: SessionService, session_id: SessionId) -> None:
        self._service = service
        self._session_id = session_id

    async def __call__(self, *payloads: AnyPayload) -> None:
        await self._service.record(self._session_id, *payloads)


class _ClosedRecorder:
    """Also writes the events that came while the session was closed, at the latest when it is released."""

    def __init__(self, service: SessionService, ports: Ports, session_id: SessionId) -> None:
        self._service = service
        self._ports = ports
        self._session_id = session_id

    async def __call__(self, *payloads: AnyPayload) -> None:
        pending = (*self._service.pending_events.take(self._session_id), *payloads)
        if pending:
            await append_events(self._ports.store, self._ports.clock, self._session_id, pending)
