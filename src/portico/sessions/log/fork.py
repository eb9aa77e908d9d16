"""Fork of a session: a copy of its log; the agent forks its own session when it is first needed.

The agent forks its own session only if the source has not continued since; otherwise the fork would know of things
that were never said in it.
"""

import os

from portico.domain.errors import SessionBusy
from portico.domain.events import Event, SessionStarted
from portico.domain.ids import SessionId, make_session_id
from portico.domain.session_summary import SessionSummary
from portico.domain.values import ForkedFrom
from portico.sessions.ports import Ports, Store

EVENTS_LOOKED_AT = 500


async def fork(ports: Ports, source: SessionSummary) -> SessionId:
    """Copy a session that is not in a turn; returns the id of the copy."""
    if source.state.active:
        raise SessionBusy.in_turn(
            source.session_id, suggestion="Wait for its end, or stop it first; then fork it."
        )
    now = ports.clock.now_ms()
    session_id = make_session_id(now, os.urandom(8))
    begun = SessionStarted(
        workspace=source.workspace,
        agent=source.agent,
        agent_command=source.agent_command,
        mode=source.mode,
        reads_only=source.reads_only,
        continued=True,
        portico_version=ports.version,
        forked_from=ForkedFrom(
            session_id=source.session_id,
            agent_session_id=source.agent_session_id,
            last_turn=source.last_turn,
        ),
    )
    first = Event(session_id=session_id, seq=source.last_seq + 1, turn_id=None, at=now, payload=begun)
    await ports.store.copy(source.session_id, [first])
    return session_id


async def pending_fork(store: Store, session_id: SessionId) -> ForkedFrom | None:
    """The source of a fork whose agent has no session for it yet."""
    for event in reversed(await store.tail(session_id, before_seq=None, limit=EVENTS_LOOKED_AT)):
        match event.payload:
            case SessionStarted(forked_from=ForkedFrom(session_id=source, last_turn=last_turn) as fork_point):
                now = await store.summary(source)
                stayed = now is not None and now.last_turn == last_turn
                return fork_point if stayed else ForkedFrom(session_id=source, last_turn=last_turn)
            case _:
                continue
    return None
