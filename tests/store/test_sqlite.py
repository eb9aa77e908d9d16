"""Promises of the store on disk beyond the port: access, waiting, and the cost of a look."""

import asyncio
import gc
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from msgspec import Raw

from portico.domain.errors import StoreFailed
from portico.domain.events import Notice, TextDelta
from portico.domain.ids import SessionId
from portico.store import queries
from portico.store.migrations import migrate
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, bytes_left, deltas, event, modes, raw_file, session, started

DEADLINE = 20


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "plain.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        migrate(connection)
        yield connection


async def test_a_log_is_still_there_after_it_was_closed_and_opened(folder: Path) -> None:
    for first in (1, 2, 3):
        store = SqliteStore(folder)
        await store.open()
        await store.append([started()] if first == 1 else deltas(ALPHA, first, 1), durable=False)
        await store.close()
    store = SqliteStore(folder)
    await store.open()
    assert [each.seq for each in await store.read(ALPHA, after_seq=0, limit=9)] == [1, 2, 3]
    assert await store.verify() == []
    await store.close()


async def test_making_a_store_touches_nothing_until_it_is_opened(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state")
    assert set(modes(tmp_path)) == {"."}
    with pytest.raises(StoreFailed, match="not open"):
        await store.summaries()
    await store.close()


async def test_a_closed_store_says_so_and_may_be_closed_again(store: SqliteStore) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreFailed, match="not open"):
        await store.append([started()], durable=False)


async def test_what_was_asked_before_closing_is_still_done(folder: Path) -> None:
    store = SqliteStore(folder)
    await store.open()
    append = asyncio.create_task(store.append(session(length=3), durable=False))
    await asyncio.sleep(0)
    await store.close()
    await append
    with raw_file(folder) as file:
        assert file.execute("SELECT count(*) FROM events").fetchone() == (3,)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps rights in another way")
async def test_only_the_owner_can_read_the_log_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(folder)
        lease = await store.lease("session alpha", "a test")
        assert lease is not None
        await store.open()
        await store.append([started()], durable=False)
    finally:
        os.umask(before)
    found = modes(folder)
    assert {found.pop("."), found.pop("leases")} == {0o700}
    assert set(found.values()) == {0o600}
    assert {"portico.db", "portico.db-wal", "portico.db-shm", "leases/gate.lock"} < set(found)
    lease.release()
    await store.close()


async def test_what_was_deleted_is_not_left_in_the_file(folder: Path) -> None:
    store = SqliteStore(folder)
    await store.open()
    await store.append([started(), *deltas(ALPHA, 2, 200, text="a-very-private-word ")], durable=False)
    await store.delete(ALPHA)
    await store.close()
    left = bytes_left(folder)
    assert b"session_started" not in left
    assert b"a-very-private-word" not in left


async def test_what_was_deleted_is_gone_from_the_file_while_it_is_open(
    store: SqliteStore, folder: Path
) -> None:
    await store.append([started(), *deltas(ALPHA, 2, 200, text="a-very-private-word ")], durable=False)
    await store.delete(ALPHA)
    assert b"a-very-private-word" not in bytes_left(folder)


async def test_a_slow_write_does_not_hold_up_a_reader(store: SqliteStore) -> None:
    await store.append(session(length=3), durable=False)
    writing, go_on = threading.Event(), threading.Event()

    def slow_write(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        writing.set()
        assert go_on.wait(DEADLINE)
        connection.execute("ROLLBACK")

    write = asyncio.create_task(store._writer.run(slow_write))
    assert await asyncio.to_thread(writing.wait, DEADLINE)
    async with asyncio.timeout(DEADLINE):
        assert len(await store.tail(ALPHA, before_seq=None, limit=9)) == 3
        assert await store.verify() == []
    assert not write.done()
    go_on.set()
    await write


async def test_a_cancelled_append_that_has_not_begun_is_never_written(store: SqliteStore) -> None:
    go_on = threading.Event()
    ahead = asyncio.create_task(store._writer.run(lambda _: go_on.wait(DEADLINE)))
    append = asyncio.create_task(store.append([started()], durable=False))
    await asyncio.sleep(0)
    append.cancel()
    with pytest.raises(asyncio.CancelledError):
        await append
    go_on.set()
    assert await ahead
    assert await store.summaries() == []


async def test_a_cancelled_append_that_has_begun_is_over_when_the_caller_hears_of_it(
    store: SqliteStore,
) -> None:
    writing, go_on = threading.Event(), threading.Event()

    def held_append(connection: sqlite3.Connection) -> None:
        writing.set()
        assert go_on.wait(DEADLINE)
        queries.append(connection, [session(length=2)], durable=False)

    append = asyncio.create_task(store._writer.run(held_append))
    assert await asyncio.to_thread(writing.wait, DEADLINE)
    append.cancel()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not append.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await append
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 2


async def test_the_failure_of_a_cancelled_write_is_nobodys_and_disturbs_nobody(store: SqliteStore) -> None:
    writing, go_on = threading.Event(), threading.Event()
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    def failing(_: sqlite3.Connection) -> None:
        writing.set()
        assert go_on.wait(DEADLINE)
        raise sqlite3.OperationalError("too late to matter")

    write = asyncio.create_task(store._writer.run(failing))
    assert await asyncio.to_thread(writing.wait, DEADLINE)
    write.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await write
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


@pytest.mark.parametrize(
    ("kind", "payload", "raw"),
    [
        ("hologram", b'{"depth": 3}', b'{"depth": 3}'),
        ("text_delta", b'{"words": ["from", "later"]}', b'{"words": ["from", "later"]}'),
        ("text_delta", b'{"text": "cut o', b'"{\\"text\\": \\"cut o"'),
        ("text_delta", b'{"text": "\xff"}', '"{\\"text\\": \\"�\\"}"'.encode()),
    ],
    ids=["unknown kind", "unknown shape", "not JSON", "not UTF-8"],
)
async def test_an_event_this_version_cannot_read_becomes_a_notice_among_the_others(
    store: SqliteStore, folder: Path, kind: str, payload: bytes, raw: bytes
) -> None:
    await store.append(session(length=3), durable=False)
    with raw_file(folder) as file:
        file.execute("UPDATE events SET kind = ?, payload = ? WHERE seq = 2", (kind, payload))
    first, second, third = await store.read(ALPHA, after_seq=0, limit=9)
    assert (first, third) == (session(length=3)[0], session(length=3)[2])
    assert isinstance(second.payload, Notice)
    assert repr(kind) in second.payload.text
    assert isinstance(second.payload.raw, Raw)
    assert bytes(second.payload.raw) == raw
    assert (second.seq, second.turn_id) == (2, "t1")
    assert await store.tail(ALPHA, before_seq=None, limit=9) == [first, second, third]
    await store.append(deltas(ALPHA, 4, 1), durable=False)


def statements_of(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], object]) -> list[str]:
    """The SQL that the work sends, with its values filled in."""
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    work(connection)
    connection.set_trace_callback(None)
    return seen


def plan_of(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], object]) -> list[str]:
    return [
        row[3]
        for statement in statements_of(connection, work)
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]


LOOKS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "read": partial(queries.read, session_id=ALPHA, after_seq=5, limit=10),
    "tail": partial(queries.tail, session_id=ALPHA, before_seq=None, limit=200),
    "page back": partial(queries.tail, session_id=ALPHA, before_seq=500, limit=200),
    "how things stand": partial(queries.standing, session_id=ALPHA),
    "list": partial(queries.summaries, workspace=None, id_prefix="", limit=10),
    "list of a workspace": partial(queries.summaries, workspace="/work", id_prefix="", limit=10),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_goes_by_an_index_and_sorts_nothing(connection: sqlite3.Connection, look: str) -> None:
    plan = plan_of(connection, LOOKS[look])
    assert plan
    assert all(
        "USING INDEX" in step or "USING COVERING INDEX" in step for step in plan if "SCALAR" not in step
    )
    assert not any("TEMP B-TREE" in step for step in plan)


@pytest.mark.parametrize(
    "look",
    [
        partial(queries.summaries, workspace=None, id_prefix="", limit=10),
        partial(queries.summaries, workspace="/work", id_prefix="al", limit=10),
        partial(queries.summary, session_id=ALPHA),
        queries.active_sessions,
    ],
)
def test_a_list_of_sessions_never_looks_at_events(
    connection: sqlite3.Connection, look: Callable[[sqlite3.Connection], object]
) -> None:
    assert not any("events" in step for step in plan_of(connection, look))


def test_the_tail_of_a_hundred_thousand_events_takes_as_many_steps_as_that_of_a_thousand(
    connection: sqlite3.Connection,
) -> None:
    def steps_for(length: int) -> int:
        name = SessionId(f"of-{length}")
        queries.append(connection, [[started(name)]], durable=False)
        connection.execute(
            """
            WITH RECURSIVE counted(seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM counted WHERE seq < ?)
            INSERT INTO events (session, seq, turn_id, at, kind, payload)
            SELECT (SELECT max(number) FROM sessions), seq, 't1', 0, 'text_delta', ? FROM counted
            """,
            (length, b'{"text":"word"}'),
        )
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 1

        connection.set_progress_handler(count, 1)
        tail = queries.tail(connection, name, before_seq=None, limit=200)
        connection.set_progress_handler(None, 1)
        assert [each.seq for each in tail] == list(range(length - 199, length + 1))
        return steps

    assert steps_for(100_000) == steps_for(1_000) > 0


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_only_a_durable_append_waits_for_the_disk(
    connection: sqlite3.Connection, durable: bool, level: int
) -> None:
    queries.append(connection, [[started()]], durable=not durable)
    seen = statements_of(
        connection,
        partial(queries.append, batches=[[event(ALPHA, 2, TextDelta(text="word"))]], durable=durable),
    )
    assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    assert seen.index(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}") < seen.index(
        "BEGIN IMMEDIATE"
    )
