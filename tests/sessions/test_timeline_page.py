"""Pages of a log: they begin between messages, so that no door shows half of one."""

import pytest

from portico.domain.events import (
    AnyPayload,
    Event,
    Notice,
    SessionStarted,
    TextDelta,
    Thinking,
    TitleUpdated,
    UsageUpdated,
)
from portico.domain.ids import SessionId
from portico.sessions.log import timeline_page
from portico.sessions.log.timeline_page import read_timeline_page
from portico.testing.store import MemoryStore

SESSION = SessionId("s1")
STARTED = SessionStarted(workspace="/w", agent="a", continued=False, mode="direct", portico_version="1")


async def store_of(*payloads: AnyPayload) -> MemoryStore:
    """A store with a session whose events after its start are these."""
    store = MemoryStore()
    events = [
        Event(session_id=SESSION, seq=seq, turn_id=None, at=0, payload=payload)
        for seq, payload in enumerate((STARTED, *payloads), start=1)
    ]
    await store.append(events, durable=True)
    return store


def notice(number: int = 0) -> Notice:
    return Notice(level="info", text=str(number))


def words(count: int, message_id: str | None = None) -> list[TextDelta]:
    return [TextDelta(text=str(number), message_id=message_id) for number in range(count)]


async def page(store: MemoryStore, limit: int, before_seq: int | None = None) -> list[int]:
    return [
        event.seq for event in await read_timeline_page(store, SESSION, before_seq=before_seq, limit=limit)
    ]


async def test_a_page_that_would_begin_within_a_message_begins_with_it() -> None:
    store = await store_of(*words(1200), notice())
    assert await page(store, 10) == list(range(2, 1203))
    assert await page(store, 10, before_seq=2) == [1]


@pytest.mark.parametrize(
    "before",
    [notice(), Thinking(text="hm"), TextDelta(text="of another", message_id="m0")],
    ids=["an event", "a thought", "another message"],
)
async def test_a_page_that_begins_with_a_message_is_as_long_as_it_was_asked_to_be(before: AnyPayload) -> None:
    store = await store_of(before, *words(5, "m1"))
    assert await page(store, 5) == [3, 4, 5, 6, 7]


async def test_thoughts_are_kept_together_too() -> None:
    store = await store_of(*(Thinking(text="hm") for _ in range(9)))
    assert await page(store, 3) == list(range(2, 11))


async def test_what_doors_do_not_show_does_not_end_a_message() -> None:
    said, used = words(6), UsageUpdated(used=10)
    store = await store_of(TitleUpdated(title="Boats"), *said[:3], used, *said[3:], used)
    whole = list(range(3, 11))
    assert await page(store, 4) == whole  # begins with a word after what is not shown
    assert await page(store, 5) == whole  # begins with what is not shown
    assert await page(store, 2, before_seq=7) == [3, 4, 5, 6]
    assert await page(store, 1) == [10]


async def test_a_message_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_page, "LONGEST_MESSAGE", 1000)
    store = await store_of(*words(3000))
    assert await page(store, 10) == list(range(1992, 3002))


async def test_an_empty_log_has_an_empty_page() -> None:
    assert await page(MemoryStore(), 10) == []
