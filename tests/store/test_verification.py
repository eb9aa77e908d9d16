"""Each way in which a log can be wrong is found and put into a sentence."""

from pathlib import Path

import pytest

from portico.domain.events import PromptSubmitted, TitleUpdated
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, BETA, event, raw_file, session, started


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("DELETE FROM events WHERE seq = 3", "event 4 follows event 2"),
        ("DELETE FROM events WHERE seq = 600", "lastSeq 600 instead of 599"),
        ("DELETE FROM events WHERE seq = 1", "begins with event 2 (text_delta), not with session_started"),
        ("DELETE FROM events", "the log has no events"),
        ("UPDATE events SET seq = 900 WHERE seq = 300", "event 301 follows event 299"),
        ("UPDATE events SET seq = -1 WHERE seq = 300", "begins with event -1 (text_delta)"),
        ("UPDATE events SET kind = 'text_delta' WHERE seq = 1", "begins with event 1 (text_delta)"),
        ("UPDATE events SET payload = x'7b' WHERE seq = 500", "event 500 (text_delta) cannot be decoded"),
        ("UPDATE events SET payload = x'ff' WHERE seq = 1", "event 1 (session_started) cannot be decoded"),
        ("UPDATE events SET kind = 'hologram' WHERE seq = 5", "event 5 is of kind 'hologram'"),
        ("UPDATE sessions SET title = 'Other'", "summary says title 'Other' instead of ''"),
        ("UPDATE sessions SET last_seq = 599", "summary says lastSeq 599 instead of 600"),
        ("UPDATE sessions SET state = 'dreaming'", "summary of session alpha cannot be read"),
        ("UPDATE sessions SET agent_command = '['", "summary of session alpha cannot be read"),
        ("UPDATE sessions SET title = CAST(x'ff' AS TEXT)", "the summary says title '\ufffd' instead of ''"),
        ("UPDATE sessions SET title = x'ff'", "summary of session alpha cannot be read"),
        ("UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE seq = 5", "event 5 is of kind '\ufffd'"),
        ("UPDATE events SET session = 77 WHERE seq = 9", "events of number 77, which is not a session"),
    ],
)
async def test_damage_is_found_and_named(store: SqliteStore, folder: Path, damage: str, words: str) -> None:
    await store.append(session(length=600), durable=False)
    assert await store.verify() == []
    with raw_file(folder) as file:
        file.execute(damage)
    problems = await store.verify()
    assert any(words in problem for problem in problems), problems


async def test_one_broken_session_does_not_hide_the_next(store: SqliteStore, folder: Path) -> None:
    for name in (ALPHA, BETA):
        await store.append(session(name, length=5), durable=False)
    with raw_file(folder) as file:
        file.execute("DELETE FROM events WHERE seq = 2")
    problems = await store.verify()
    assert problems == [f"session {name}: event 3 follows event 1" for name in (ALPHA, BETA)]


async def test_a_thoroughly_broken_session_is_told_in_a_few_lines(store: SqliteStore, folder: Path) -> None:
    await store.append(session(length=500), durable=False)
    with raw_file(folder) as file:
        file.execute("UPDATE events SET kind = 'hologram' WHERE seq > 1")
    problems = await store.verify()
    assert len(problems) == 21
    assert problems[-1] == "session alpha: and 978 more problems"


async def test_a_title_that_the_events_gave_is_not_a_problem(store: SqliteStore) -> None:
    await store.append(
        [
            started(),
            event(ALPHA, 2, PromptSubmitted(text="do\x00 it " * 40)),
            event(ALPHA, 3, TitleUpdated(title="Done")),
        ],
        durable=False,
    )
    assert await store.verify() == []


async def test_a_verified_store_can_be_closed_and_written_at_once(store: SqliteStore) -> None:
    assert await store.verify() == []
    await store.append([started()], durable=True)
    assert await store.delete(ALPHA)
