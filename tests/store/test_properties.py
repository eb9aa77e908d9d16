"""Whatever is appended, in whatever portions, both stores give back the same, from either end."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.domain.events import (
    AnyPayload,
    Event,
    Notice,
    PromptSubmitted,
    StateChanged,
    TextDelta,
    Thinking,
    TitleUpdated,
)
from portico.domain.ids import SessionId, TurnId
from portico.domain.turns import TurnState
from portico.store.sqlite import SqliteStore
from portico.testing.store import MemoryStore
from tests.store.support import ALPHA, AT, BETA, started

STATES = st.sampled_from(TurnState)
PAYLOADS: st.SearchStrategy[AnyPayload] = st.one_of(
    st.builds(TextDelta, text=st.text()),
    st.builds(Thinking, text=st.text(), message_id=st.none() | st.text()),
    st.builds(PromptSubmitted, text=st.text()),
    st.builds(StateChanged, state=STATES, previous=STATES),
    st.builds(TitleUpdated, title=st.text()),
    st.builds(Notice, level=st.just("info"), text=st.text(), count=st.integers(0, 2**40)),
)
TURNS = st.none() | st.builds(TurnId, st.from_regex(r"t[1-9][0-9]{0,3}", fullmatch=True))
FACTS = st.tuples(PAYLOADS, TURNS, st.integers(0, 2**45))
BATCHES = st.lists(
    st.tuples(st.sampled_from([ALPHA, BETA]), st.lists(FACTS, min_size=1, max_size=6), st.booleans()),
    max_size=8,
)


class Window(msgspec.Struct, frozen=True):
    after_seq: int
    before_seq: int | None
    limit: int


WINDOWS = st.builds(Window, st.integers(-1, 50), st.none() | st.integers(-1, 50), st.integers(-1, 50))


@settings(max_examples=40, deadline=None)
@given(batches=BATCHES, windows=st.lists(WINDOWS, min_size=1, max_size=5))
async def test_both_stores_give_back_what_was_appended(
    batches: list[tuple[SessionId, list[tuple[AnyPayload, TurnId | None, int]], bool]], windows: list[Window]
) -> None:
    expected: dict[SessionId, list[Event]] = {ALPHA: [started(ALPHA, at=AT)], BETA: [started(BETA, at=AT)]}
    memory = MemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        sqlite = SqliteStore(Path(folder))
        await sqlite.open()
        try:
            for store in (memory, sqlite):
                for log in expected.values():
                    await store.append(log[:1], durable=False)
            for session_id, facts, durable in batches:
                log = expected[session_id]
                batch = [
                    Event(session_id=session_id, seq=seq, turn_id=turn_id, at=at, payload=payload)
                    for seq, (payload, turn_id, at) in enumerate(facts, start=len(log) + 1)
                ]
                log += batch
                for store in (memory, sqlite):
                    await store.append(batch, durable=durable)
            for store in (memory, sqlite):
                assert await store.verify() == []
                for session_id, log in expected.items():
                    for window in windows:
                        after, before, limit = window.after_seq, window.before_seq, max(window.limit, 0)
                        ahead = [each for each in log if each.seq > after][:limit]
                        behind = [each for each in log if before is None or each.seq < before]
                        read = await store.read(session_id, after_seq=after, limit=window.limit)
                        tail = await store.tail(session_id, before_seq=before, limit=window.limit)
                        assert read == ahead
                        assert tail == behind[len(behind) - min(limit, len(behind)) :]
            assert await sqlite.summaries() == await memory.summaries()
            assert await sqlite.active_sessions() == await memory.active_sessions()
        finally:
            await sqlite.close()
