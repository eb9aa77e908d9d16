"""Repair of hand-offs: finds the marks that a session lacks because its process died before it wrote them.

The session that continues is written first. Either of the two brings the mark of the old one when it is next opened.
"""

from collections.abc import AsyncIterator

import msgspec

from portico.domain.events import Notice
from portico.domain.ids import SessionId
from portico.domain.notice_codes import CONTINUED_FROM, CONTINUED_WITH
from portico.sessions.log.hand_off import FIRST_EVENTS, continued_with
from portico.sessions.ports import Store

_LATER_SESSIONS = 50
_LATER_EVENTS = 500


class MissingMark(msgspec.Struct, frozen=True):
    session_id: SessionId
    mark: Notice


async def find_missing_marks(store: Store, session_id: SessionId) -> list[MissingMark]:
    """The marks that this session lacks, and that of the session that it continues."""
    return [missing async for missing in _hand_offs(store, session_id)]


async def _hand_offs(store: Store, session_id: SessionId) -> AsyncIterator[MissingMark]:
    if (missing := await _missing_of(store, session_id)) is not None:
        yield missing
    source = await store.summary(session_id)
    if source is None:
        return
    for later in await store.summaries(workspace=source.workspace, limit=_LATER_SESSIONS):
        if later.session_id != session_id and later.created_at >= source.updated_at:
            missing = await _missing_of(store, later.session_id)
            if missing is not None and missing.session_id == session_id:
                yield missing


async def _missing_of(store: Store, continuation: SessionId) -> MissingMark | None:
    """The mark that the session which this one continues lacks."""
    for event in await store.read(continuation, after_seq=0, limit=FIRST_EVENTS):
        match event.payload:
            case Notice(code=code, source="portico", other_session_id=str() as other) if (
                code == CONTINUED_FROM
            ):
                source, summary = SessionId(other), await store.summary(continuation)
                if summary is None or await store.summary(source) is None:
                    return None
                if await _is_marked(store, source, event.at):
                    return None
                return MissingMark(source, continued_with(summary.agent, continuation))
            case _:
                continue
    return None


async def _is_marked(store: Store, source: SessionId, since: int) -> bool:
    """Whether a session has a mark since a moment, or so many events that its hand-off is long past."""
    events = await store.tail(source, before_seq=None, limit=_LATER_EVENTS)
    later = [event for event in events if event.at >= since]
    return len(later) == _LATER_EVENTS or any(
        isinstance(event.payload, Notice) and event.payload.code == CONTINUED_WITH for event in later
    )
