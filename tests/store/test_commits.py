"""Appends that wait at the same time share a commit, and each still has its own outcome."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.domain.errors import StoreFailed
from portico.domain.events import Event, TextDelta
from portico.domain.ids import SessionId
from portico.store import queries
from portico.store.sqlite import SqliteStore
from tests.store.support import deltas, event, raw_file, started

DEADLINE = 20
NAMES = [SessionId(name) for name in ("one", "two", "three", "four")]


@asynccontextmanager
async def busy_writer(store: SqliteStore) -> AsyncIterator[None]:
    """The writing thread has its hands full until the end of the block."""
    go_on = threading.Event()
    work = asyncio.create_task(store._writer.run(lambda _: go_on.wait(DEADLINE)))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        go_on.set()
        assert await work


async def asked_together(store: SqliteStore, batches: list[list[Event]]) -> list[BaseException | None]:
    """The outcome of each batch, all asked for while the writer is busy."""
    async with busy_writer(store):
        appends = [asyncio.create_task(store.append(batch, durable=False)) for batch in batches]
        await asyncio.sleep(0)
    async with asyncio.timeout(DEADLINE):
        return await asyncio.gather(*appends, return_exceptions=True)


async def commits_of(store: SqliteStore) -> list[str]:
    seen: list[str] = []
    await store._writer.run(lambda connection: connection.set_trace_callback(seen.append))
    return seen


async def test_sessions_that_wait_together_are_written_in_one_commit(store: SqliteStore) -> None:
    seen = await commits_of(store)
    assert await asked_together(store, [[started(name)] for name in NAMES]) == [None] * 4
    assert seen.count("COMMIT") == 1
    assert {each.session_id for each in await store.summaries()} == set(NAMES)
    assert await store.verify() == []


async def test_appends_that_wait_together_ask_the_writer_once_so_that_nothing_piles_up_behind_them(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    submit = store._writer.submit

    def ask(work: Callable[[sqlite3.Connection], Any]) -> "Future[Any]":
        asked.append(work)
        return submit(work)

    monkeypatch.setattr(store._writer, "submit", ask)
    for batches in ([[started(name)] for name in NAMES], [deltas(name, 2, 1) for name in NAMES]):
        asked.clear()
        assert await asked_together(store, batches) == [None] * 4
        # What keeps the writer busy, and one commit.
        assert len(asked) == 2


async def test_a_commit_waits_for_the_disk_when_one_of_those_who_share_it_asked_for_that(
    store: SqliteStore,
) -> None:
    seen = await commits_of(store)
    async with busy_writer(store):
        appends = [
            asyncio.create_task(store.append([started(name)], durable=name == "two")) for name in NAMES
        ]
        await asyncio.sleep(0)
    await asyncio.gather(*appends)
    assert [each for each in seen if "synchronous" in each] == ["PRAGMA synchronous = FULL"]


async def test_a_batch_that_is_refused_does_not_spoil_the_commit_of_the_others(store: SqliteStore) -> None:
    seen = await commits_of(store)
    one, two, three, _ = NAMES
    outcomes = await asked_together(
        store,
        [
            [started(one)],
            deltas(two, 5, 1),
            [started(three), event(three, 2, TextDelta(text="\ud800"))],
            deltas(one, 2, 2),
            deltas(one, 2, 2),
        ],
    )
    assert [type(outcome) for outcome in outcomes if outcome] == [StoreFailed] * 3
    assert (outcomes[0], outcomes[3]) == (None, None)
    assert seen.count("COMMIT") == 1
    assert [each.session_id for each in await store.summaries()] == [one]
    assert len(await store.read(one, after_seq=0, limit=9)) == 3
    assert await store.verify() == []


async def test_a_batch_too_large_for_the_disk_fails_alone(store: SqliteStore) -> None:
    def limit_pages(connection: sqlite3.Connection) -> None:
        (used,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {used + 3}")

    await store.append([started(SessionId("first"))], durable=False)
    await store._writer.run(limit_pages)
    one, two, three, _ = NAMES
    large = [started(two), event(two, 2, TextDelta(text="x" * 100_000))]
    outcomes = await asked_together(store, [[started(one)], large, [started(three)]])
    assert (outcomes[0], outcomes[2]) == (None, None)
    assert isinstance(outcomes[1], StoreFailed)
    assert "is full" in outcomes[1].message
    assert {each.session_id for each in await store.summaries()} == {"first", one, three}
    assert await store.verify() == []


async def test_a_lock_fails_all_who_wait_after_one_patience_not_one_each(folder: Path) -> None:
    store = SqliteStore(folder, busy_seconds=0)
    await store.open()
    seen = await commits_of(store)
    with raw_file(folder) as other:
        other.execute("BEGIN IMMEDIATE")
        outcomes = await asked_together(store, [[started(name)] for name in NAMES])
    assert [type(outcome) for outcome in outcomes] == [StoreFailed] * 4
    assert len({id(outcome) for outcome in outcomes}) == 4
    assert seen.count("BEGIN IMMEDIATE") == 1
    assert await asked_together(store, [[started(name)] for name in NAMES]) == [None] * 4
    await store.close()


async def test_a_cancelled_append_is_left_out_of_the_commit_it_waited_for(store: SqliteStore) -> None:
    one, two, *_ = NAMES
    async with busy_writer(store):
        kept = asyncio.create_task(store.append([started(one)], durable=False))
        dropped = asyncio.create_task(store.append([started(two)], durable=False))
        await asyncio.sleep(0)
        dropped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
    await kept
    assert [each.session_id for each in await store.summaries()] == [one]


async def test_a_fault_of_ours_reaches_everyone_who_waits(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> list[StoreFailed | None]:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(queries, "append", broken)
        outcomes = await asked_together(store, [[started(name)] for name in NAMES])
    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 4
    await store.append([started()], durable=False)
