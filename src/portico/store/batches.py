"""Rule that a batch of events continues one session without a gap, and the summary after it."""

from collections.abc import Sequence

import msgspec

from portico.domain.errors import StoreFailed
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary, fold


def advance(held: SessionSummary | None, events: Sequence[Event]) -> SessionSummary:
    """The summary after the batch, given the stored one. StoreFailed if the batch does not continue the log."""
    first = events[0]
    last_seq = held.last_seq if held else 0
    if first.seq != last_seq + 1:
        raise _out_of_step(first, last_seq)
    for seq, event in enumerate(events, start=first.seq):
        if event.session_id != first.session_id or event.seq != seq:
            raise StoreFailed(
                f"A batch of session {first.session_id} has event {event.seq} of {event.session_id} "
                f"where its own event {seq} belongs, so nothing was written."
            )
    try:
        summary = fold(held, first)
    except ValueError as error:
        raise StoreFailed(f"Nothing was written: {error}.") from error
    for event in events[1:]:
        summary = fold(summary, event)
    return summary


def advance_copy(source: SessionId, held: SessionSummary | None, events: Sequence[Event]) -> SessionSummary:
    """The summary of a session that starts as a copy of another. StoreFailed if the source has changed."""
    if held is None or held.last_seq + 1 != events[0].seq:
        raise StoreFailed(
            f"Session {source} changed just now, so it was not copied.", suggestion="Try again."
        )
    return advance(msgspec.structs.replace(held, session_id=events[0].session_id), events)


def _out_of_step(first: Event, last_seq: int) -> StoreFailed:
    if first.seq <= last_seq:
        return StoreFailed(
            f"Another process continued session {first.session_id}: its log already has event {last_seq}, "
            f"and this writer wanted to add event {first.seq}.",
            suggestion="Open the session again to continue from its current state.",
        )
    if last_seq == 0:
        return StoreFailed(
            f"There is no session {first.session_id} that event {first.seq} could continue.",
            suggestion="Another process may have deleted it; start a new session.",
        )
    return StoreFailed(
        f"Session {first.session_id} ends at event {last_seq}, so event {first.seq} would leave a gap."
    )
