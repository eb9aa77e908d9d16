"""Pages of a session's log, from its end backwards, which begin between messages."""

from portico.domain import events as log
from portico.domain.events import Event, TextDelta, Thinking
from portico.domain.ids import SessionId
from portico.sessions.ports import Store

LONGEST_MESSAGE = 5_000
"""Events that are read beyond the page to reach the beginning of a message. A longer message is cut."""
_STEP = 500
_WITHIN_MESSAGES = (
    *(log.StateChanged, log.TodosUpdated, log.UsageUpdated, log.CommandsUpdated, log.ConfigUpdated),
    *(log.ComponentsUpdated, log.TitleUpdated, log.CheckpointCreated, log.EditorRequested, log.EditorReplied),
    *(log.ToolUpdated, log.ToolCompleted, log.PermissionResolved, log.QuestionAnswered),
)
"""Events after which a message continues: doors show nothing new at their place."""


async def read_timeline_page(
    store: Store, session_id: SessionId, *, before_seq: int | None, limit: int
) -> list[Event]:
    """The last `limit` events before a number, and those before them that belong to the same message."""
    events = await store.tail(session_id, before_seq=before_seq, limit=limit)
    first = next((event for event in events if not isinstance(event.payload, _WITHIN_MESSAGES)), None)
    if first is None or not isinstance(first.payload, TextDelta | Thinking):
        return events
    before: list[Event] = []
    while len(before) < LONGEST_MESSAGE:
        earlier = await store.tail(session_id, before_seq=(before or events)[0].seq, limit=_STEP)
        same = _end_of_message(earlier, first)
        before = same + before
        if len(same) < _STEP:
            break
    return _from_first_text(before) + events


def _end_of_message(events: list[Event], following: Event) -> list[Event]:
    start = len(events)
    while start > 0 and _continues(events[start - 1], following):
        start -= 1
    return events[start:]


def _from_first_text(events: list[Event]) -> list[Event]:
    texts = (index for index, event in enumerate(events) if isinstance(event.payload, TextDelta | Thinking))
    return events[next(texts, len(events)) :]


def _continues(event: Event, following: Event) -> bool:
    one, other = event.payload, following.payload
    return isinstance(one, _WITHIN_MESSAGES) or (
        isinstance(one, TextDelta | Thinking)
        and isinstance(other, TextDelta | Thinking)
        and type(one) is type(other)
        and one.message_id == other.message_id
    )
