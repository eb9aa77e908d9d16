"""Pages of a session's log, from its end backwards, which begin between messages."""

from portico.domain.events import Event, TextDelta, Thinking
from portico.domain.ids import SessionId
from portico.sessions.ports import Store

LONGEST_MESSAGE = 5_000
"""Events that are read beyond the page to reach the beginning of a message. A longer message is cut."""
_STEP = 500


async def read_timeline_page(
    store: Store, session_id: SessionId, *, before_seq: int | None, limit: int
) -> list[Event]:
    """The last `limit` events before a number, and those before them that belong to the same message."""
    events = await store.tail(session_id, before_seq=before_seq, limit=limit)
    before: list[Event] = []
    while events and len(before) < LONGEST_MESSAGE:
        first = (before or events)[0]
        earlier = await store.tail(session_id, before_seq=first.seq, limit=_STEP) if _is_text(first) else []
        same = _end_of_message(earlier, first)
        before = same + before
        if len(same) < _STEP:
            break
    return before + events


def _end_of_message(events: list[Event], following: Event) -> list[Event]:
    start = len(events)
    while start > 0 and _continues(events[start - 1], following):
        start -= 1
    return events[start:]


def _is_text(event: Event) -> bool:
    return isinstance(event.payload, TextDelta | Thinking)


def _continues(event: Event, following: Event) -> bool:
    one, other = event.payload, following.payload
    return (
        isinstance(one, TextDelta | Thinking)
        and isinstance(other, TextDelta | Thinking)
        and type(one) is type(other)
        and one.message_id == other.message_id
    )
