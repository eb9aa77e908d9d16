"""The decisions on permission requests of all sessions, read from the log."""

import msgspec

from portico.domain.events import PermissionRequested, PermissionResolved, SessionStarted
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.values import ForkedFrom
from portico.sessions.ports import Store

_SESSIONS = 50


class RecordedDecision(msgspec.Struct, frozen=True):
    """A decision, the request it answered, and the session of both."""

    session: SessionSummary
    seq: int
    at: int
    request: PermissionRequested
    resolved: PermissionResolved


class DecisionPage(msgspec.Struct, frozen=True):
    """Decisions of whole sessions, and the last session that was read if there are more."""

    decisions: tuple[RecordedDecision, ...]
    next_after: SessionId | None


async def list_decisions(store: Store, *, after: SessionId | None, limit: int) -> DecisionPage:
    """Decisions by session, the one that changed last first, until there are `limit`."""
    found: list[RecordedDecision] = []
    while sessions := await store.summaries(before=after, limit=_SESSIONS):
        for session in sessions:
            after = session.session_id
            found += await _decisions_of(store, session)
            if len(found) >= limit:
                return DecisionPage(tuple(found), after)
        if len(sessions) < _SESSIONS:
            break
    return DecisionPage(tuple(found), None)


async def _decisions_of(store: Store, session: SessionSummary) -> list[RecordedDecision]:
    requests: dict[str, PermissionRequested] = {}
    decisions: list[RecordedDecision] = []
    for event in await store.permission_events(session.session_id):
        match event.payload:
            case SessionStarted(forked_from=ForkedFrom(session_id=source)):
                if await store.summary(source) is not None:
                    decisions.clear()  # They were made in the session that was forked, which lists them.
            case PermissionRequested() as request:
                requests[request.request_id] = request
            case PermissionResolved() as resolved if resolved.request_id in requests:
                asked = requests[resolved.request_id]
                decisions.append(RecordedDecision(session, event.seq, event.at, asked, resolved))
            case _:
                pass
    return decisions[::-1]
