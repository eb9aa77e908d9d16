"""Marks turns as interrupted whose process has died.

A session whose lease is held is open in another process and is skipped. Changes that an interrupted turn made in its
working copy are collected, so that they are not lost.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from portico.domain.errors import PorticoError, StoreFailed
from portico.domain.events import AnyPayload, Event, Notice, StateChanged, TurnEnded
from portico.domain.ids import SessionId, TurnId
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnEvent, TurnStatus
from portico.sessions.internal_error import internal_error
from portico.sessions.leases import session_lease_name
from portico.sessions.ports import Clock, Ports, ReviewProvider, Store

log = logging.getLogger(__name__)

_REASON = "Portico ended during the turn."


async def recover(ports: Ports, *, skip_failures: bool) -> list[SessionId]:
    """Interrupt every turn whose process is gone; returns their sessions.

    Raises StoreFailed, after all have been tried, if one failed, unless `skip_failures`.
    """
    recovered, failure = [], None
    for session_id in await ports.store.active_sessions():
        try:
            if await recover_session(ports, session_id):
                recovered.append(session_id)
        except StoreFailed as error:
            log.warning("session %s was not recovered: %s", session_id, error.message)
            failure = error
    if failure is not None and not skip_failures:
        raise failure
    return recovered


async def recover_session(ports: Ports, session_id: SessionId) -> bool:
    """Interrupt the turn of a session whose process is gone; False if it is open, or has no turn."""
    lease = await ports.store.lease(session_lease_name(session_id), "recovery")
    if lease is None:
        return False
    try:
        return await interrupt(ports, session_id)
    finally:
        lease.release()


async def interrupt(ports: Ports, session_id: SessionId) -> bool:
    """End the active turn of a session; False if there is none. The caller holds the session's lease."""
    summary = await ports.store.summary(session_id)
    if summary is None or not summary.state.active:
        return False
    salvaged = await _salvage_changes(ports.reviews, summary)
    await ports.store.append(_interruption(summary, ports.clock.now_ms(), salvaged), durable=True)
    return True


async def append_events(
    store: Store, clock: Clock, session_id: SessionId, payloads: Sequence[AnyPayload]
) -> None:
    """Write events to the log of a session that is not open. The caller holds the session's lease."""
    summary = await store.summary(session_id)
    if summary is not None:
        await store.append(_events(summary, clock.now_ms(), None, payloads), durable=True)


async def _salvage_changes(reviews: ReviewProvider, summary: SessionSummary) -> Sequence[AnyPayload]:
    """Events with the changes of the interrupted turn."""
    failure: PorticoError
    try:
        return await reviews.salvage(summary.session_id, Path(summary.workspace))
    except PorticoError as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - no host may be kept from starting by what one session has left
        failure = internal_error(error, f"the salvage of {summary.session_id}")
    what = f"The changes of the interrupted turn could not be collected. {failure.message}"
    return [Notice(level="warning", text=what, details=failure.suggestion)]


def _interruption(summary: SessionSummary, at: int, salvaged: Sequence[AnyPayload]) -> list[Event]:
    state = TurnStatus(summary.state).after(TurnEvent.PROCESS_LOST).state
    ended = TurnEnded(state=state, stop_reason="interrupted", duration_ms=0, tools_used=0)
    moved = StateChanged(state=state, previous=summary.state, reason=_REASON)
    return _events(summary, at, summary.last_turn, (*salvaged, ended, moved))


def _events(
    summary: SessionSummary, at: int, turn_id: TurnId | None, payloads: Sequence[AnyPayload]
) -> list[Event]:
    return [
        Event(
            session_id=summary.session_id,
            seq=summary.last_seq + place,
            turn_id=turn_id,
            at=at,
            payload=payload,
        )
        for place, payload in enumerate(payloads, start=1)
    ]
