"""Fork of a session: a copy of its log; the agent forks its own session when it is first needed.

The agent forks its own session only if the source has not continued since; otherwise the fork would know of things
that were never said in it. A fork before a prompt, which is edited, is a branch: it has the events before that prompt.
"""

import os
from operator import itemgetter

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from portico.domain.events import Event, PromptSubmitted, SessionStarted
from portico.domain.ids import SessionId, make_session_id
from portico.domain.session_summary import ForkPoint, SessionSummary
from portico.domain.values import ForkedFrom
from portico.sessions.ports import Ports, Store

EVENTS_LOOKED_AT = 500
_PAGE_EVENTS = 2_000
_LISTED_SESSIONS = 2_000


class PromptVersion(msgspec.Struct, frozen=True):
    """One version of an edited prompt; `seq` is 0 until it is sent."""

    session_id: SessionId
    seq: int


class BranchPoint(msgspec.Struct, frozen=True):
    """Versions of an edited prompt in the order in which they were sent, and which of them a session has."""

    versions: tuple[PromptVersion, ...]
    current: int


async def fork(ports: Ports, source: SessionSummary) -> SessionId:
    """Copy a session that is not in a turn; returns the id of the copy."""
    if source.state.active:
        raise SessionBusy.in_turn(
            source.session_id, suggestion="Wait for its end, or stop it first; then fork it."
        )
    origin = ForkedFrom(
        session_id=source.session_id, agent_session_id=source.agent_session_id, last_turn=source.last_turn
    )
    first = _first_event(ports, source, origin, source.last_seq + 1)
    await ports.store.copy(source.session_id, [first])
    return first.session_id


async def branch(ports: Ports, source: SessionSummary, seq: int) -> SessionId:
    """Copy the events of a session before a prompt; returns the id of the copy."""
    found = await ports.store.read(source.session_id, after_seq=seq - 1, limit=1)
    if not found or found[0].seq != seq or not isinstance(found[0].payload, PromptSubmitted):
        raise InvalidInput(
            f"Event {seq} of session {source.session_id} is not a prompt.", suggestion="Reload the session."
        )
    point = await _original_point(ports.store, source, seq)
    before = await _events_before(ports.store, source.session_id, point.before_seq)
    last_turn = next((event.turn_id for event in reversed(before) if event.turn_id is not None), None)
    origin = ForkedFrom(session_id=point.session_id, last_turn=last_turn, before_seq=point.before_seq)
    first = _first_event(ports, source, origin, point.before_seq)
    copied = [msgspec.structs.replace(event, session_id=first.session_id) for event in before]
    await ports.store.append([*copied, first], durable=True)
    return first.session_id


async def find_branches(store: Store, summary: SessionSummary) -> list[BranchPoint]:
    """The edited prompts of a session, each with the sessions that have its versions."""
    listed = await store.summaries(workspace=summary.workspace, limit=_LISTED_SESSIONS)
    branches = {one.session_id: one.branched_at for one in listed if one.branched_at is not None}
    found: list[tuple[int, BranchPoint]] = []
    current: SessionSummary | None = summary
    until = summary.last_seq + 1
    while current is not None:
        origin = current.branched_at
        for point in set(branches.values()):
            begins_here = point == origin or point.session_id == current.session_id
            if not begins_here or point.before_seq >= until:
                continue
            sessions = [point.session_id, *sorted(name for name, at in branches.items() if at == point)]
            versions = [version for name in sessions if (version := await _version(store, name, point))]
            if len(versions) > 1:
                place = [one.session_id for one in versions].index(current.session_id)
                found.append((point.before_seq, BranchPoint(tuple(versions), place)))
        current = None if origin is None else await store.summary(origin.session_id)
        until = 0 if origin is None else origin.before_seq
    return [point for _, point in sorted(found, key=itemgetter(0))]


async def pending_fork(store: Store, session_id: SessionId) -> ForkedFrom | None:
    """The source of a fork whose agent has no session for it yet."""
    for event in reversed(await store.tail(session_id, before_seq=None, limit=EVENTS_LOOKED_AT)):
        match event.payload:
            case SessionStarted(forked_from=ForkedFrom(before_seq=int()) as fork_point):
                return fork_point
            case SessionStarted(forked_from=ForkedFrom(session_id=source, last_turn=last_turn) as fork_point):
                now = await store.summary(source)
                stayed = now is not None and now.last_turn == last_turn
                return fork_point if stayed else ForkedFrom(session_id=source, last_turn=last_turn)
            case _:
                continue
    return None


def _first_event(ports: Ports, source: SessionSummary, origin: ForkedFrom, seq: int) -> Event:
    """The first event of a fork after those that it has from its source."""
    now = ports.clock.now_ms()
    begun = SessionStarted(
        workspace=source.workspace,
        agent=source.agent,
        agent_command=source.agent_command,
        mode=source.mode,
        reads_only=source.reads_only,
        continued=True,
        portico_version=ports.version,
        forked_from=origin,
    )
    session_id = make_session_id(now, os.urandom(8))
    return Event(session_id=session_id, seq=seq, turn_id=None, at=now, payload=begun)


async def _original_point(store: Store, source: SessionSummary, seq: int) -> ForkPoint:
    """The place at which a prompt was first sent: a version of an edited prompt is edited again at the same place."""
    origin = source.branched_at
    if origin is not None and origin.before_seq < seq:
        since = await store.read(
            source.session_id, after_seq=origin.before_seq, limit=seq - origin.before_seq
        )
        first = next((event.seq for event in since if isinstance(event.payload, PromptSubmitted)), None)
        if first == seq:
            return origin
    return ForkPoint(source.session_id, seq)


async def _events_before(store: Store, session_id: SessionId, seq: int) -> list[Event]:
    events: list[Event] = []
    while len(events) < seq - 1:
        limit = min(_PAGE_EVENTS, seq - 1 - len(events))
        page = await store.read(session_id, after_seq=len(events), limit=limit)
        if not page:
            raise SessionNotFound(f"Session {session_id} was deleted meanwhile.")
        events += page
    return events


async def _version(store: Store, session_id: SessionId, point: ForkPoint) -> PromptVersion | None:
    """The prompt that a session has at a branch point; None if there is no such session any more."""
    if await store.summary(session_id) is None:
        return None
    since = await store.read(session_id, after_seq=point.before_seq - 1, limit=EVENTS_LOOKED_AT)
    sent = [event.seq for event in since if isinstance(event.payload, PromptSubmitted)]
    return PromptVersion(session_id, sent[0] if sent else 0)
