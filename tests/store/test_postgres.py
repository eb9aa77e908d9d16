"""The log in a database: lost connections, crashes of the server, and processes that take over from each other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from portico.domain.errors import StoreFailed
from portico.domain.events import TextDelta, TitleUpdated
from portico.domain.ids import SessionId
from portico.domain.search import SearchQuery
from portico.sessions.leases import session_lease_name
from portico.store.postgres import connection as connections
from portico.store.postgres.migrations import MIGRATIONS
from portico.store.postgres.store import PostgresStore
from tests.store.support import ALPHA, deltas, event, session, started
from tests.support.postgres import PostgresServer
from tests.support.waiting import eventually

Open = Callable[[], Any]


@pytest.fixture
async def open_store(database: str, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens stores of one database, each as a process of its own would."""
    async with AsyncExitStack() as stack:

        async def open_store() -> PostgresStore:
            store = PostgresStore(database, tmp_path)
            await store.open()
            stack.push_async_callback(store.close)
            return store

        yield open_store


def execute(database: str, query: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(query.encode())


async def test_stores_that_open_an_empty_database_at_once_all_succeed(open_store: Open) -> None:
    stores = await asyncio.gather(*(open_store() for _ in range(5)))
    await stores[0].append([started()], durable=True)
    assert (
        await asyncio.gather(*(store.summary(ALPHA) for store in stores))
        == [await stores[0].summary(ALPHA)] * 5
    )


async def test_a_newer_schema_is_refused(open_store: Open, database: str) -> None:
    store = await open_store()
    execute(database, f"UPDATE portico_schema SET version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreFailed, match="newer Portico"):
        await store.append([started()], durable=True)
    with pytest.raises(StoreFailed, match="newer Portico"):
        await open_store()


async def test_an_append_outlives_a_crash_of_the_server(open_store: Open, postgres: PostgresServer) -> None:
    store = await open_store()
    await store.append([started()], durable=True)
    postgres.kill()
    waiting = asyncio.create_task(store.append(deltas(ALPHA, 2, 3), durable=True))
    reading = asyncio.create_task(store.read(ALPHA, after_seq=0, limit=9))
    await asyncio.to_thread(postgres.start)
    await waiting
    await reading
    assert [one.seq for one in await store.read(ALPHA, after_seq=0, limit=9)] == [1, 2, 3, 4]
    assert await store.verify() == []


@pytest.mark.parametrize("first", [1, 2], ids=["a new session", "a known one"])
async def test_a_commit_whose_answer_was_lost_is_made_once(
    open_store: Open, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    store = await open_store()
    events = session(length=5)
    if first > 1:
        await store.append(events[: first - 1], durable=True)
    lost = 0
    connect = connections.DatabaseConnection._connect

    class LosesAnswer:
        """A transaction that is committed, and of which the client hears nothing."""

        def __init__(self, transaction: Any) -> None:
            self._transaction = transaction

        async def __aenter__(self) -> None:
            await self._transaction.__aenter__()

        async def __aexit__(self, *error: Any) -> None:
            nonlocal lost
            await self._transaction.__aexit__(*error)
            if lost == 0:
                lost += 1
                raise psycopg.OperationalError("the connection is lost")

    async def connect_unreliably(link: connections.DatabaseConnection) -> Any:
        connection = await connect(link)
        transaction = connection.transaction
        monkeypatch.setattr(connection, "transaction", lambda: LosesAnswer(transaction()))
        return connection

    monkeypatch.setattr(connections.DatabaseConnection, "_connect", connect_unreliably)
    await store._writer._drop()
    await store.append(events[first - 1 :], durable=True)
    assert lost == 1
    assert await store.read(ALPHA, after_seq=0, limit=9) == events
    assert await store.verify() == []


async def test_appends_of_several_processes_leave_no_gap(open_store: Open) -> None:
    stores = [await open_store() for _ in range(3)]
    names = [SessionId(f"s{number}") for number in range(4)]
    for name in names:
        await stores[0].append([started(name)], durable=True)
    added = dict.fromkeys(names, 0)

    async def add(store: PostgresStore, name: SessionId) -> None:
        for _ in range(10):
            held = await store.summary(name)
            assert held is not None
            try:
                await store.append(deltas(name, held.last_seq + 1, 2), durable=True)
            except StoreFailed as failure:
                assert "Another process continued" in failure.message  # noqa: PT017
            else:
                added[name] += 2

    await asyncio.gather(*(add(store, name) for store in stores for name in names))
    for name in names:
        assert len(await stores[0].read(name, after_seq=0, limit=99)) == 1 + added[name]
    assert await stores[0].verify() == []


async def test_a_holder_whose_lease_was_taken_over_cannot_append(open_store: Open, database: str) -> None:
    former, later = await open_store(), await open_store()
    name = session_lease_name(ALPHA)
    lease = await former.lease(name, "former")
    assert lease is not None
    await former.append(session(length=3), durable=True)
    assert await later.lease(name, "later") is None
    # As after a pause in which it was not renewed.
    execute(database, "UPDATE leases SET expires_at = now() - interval '1 second'")
    taken = await later.lease(name, "later")
    assert taken is not None
    assert taken.epoch == lease.epoch + 1
    with pytest.raises(StoreFailed, match="has taken over session alpha"):
        await former.append(deltas(ALPHA, 4, 1), durable=True)
    await later.append(deltas(ALPHA, 4, 1), durable=True)
    lease.release()
    assert await former.lease_holder(name) == "later"
    taken.release()
    # Nor when the later holder is gone again: what it appended is not known here.
    again = await eventually(lambda: former.lease(name, "former"), lambda found: found is not None)
    assert again.epoch == lease.epoch + 2
    await former.append(deltas(ALPHA, 5, 1), durable=True)


async def test_leases_of_a_closed_store_are_free(open_store: Open, database: str, tmp_path: Path) -> None:
    store = PostgresStore(database, tmp_path / "other")
    await store.open()
    assert await store.lease("tree /work", "first") is not None
    other = await open_store()
    assert await other.lease("tree /work", "second") is None
    await store.close()
    assert await other.lease("tree /work", "second") is not None


async def test_a_text_that_the_database_cannot_hold_is_kept_and_found(open_store: Open) -> None:
    store = await open_store()
    titled = event(ALPHA, 2, TitleUpdated(title="Mend\0 the Roof"))
    await store.append([started(workspace="/w\0x"), titled], durable=True)
    (found,) = await store.summaries(search="mend roof", workspace="/w\0x")
    assert (found.title, found.workspace) == ("Mend the Roof", "/w\0x")
    assert await store.verify() == []


async def test_altered_and_missing_events_are_found(open_store: Open, database: str) -> None:
    store = await open_store()
    await store.append(session(length=6), durable=True)
    execute(database, 'UPDATE events SET payload = \'{"text":"other"}\' WHERE seq = 3')
    execute(database, "DELETE FROM events WHERE seq = 5")
    problems = await store.verify()
    assert any("event 3" in problem for problem in problems)
    assert any("event 6 follows event 4" in problem for problem in problems)


async def test_messages_are_searched(open_store: Open) -> None:
    store = await open_store()
    await store.append([started(), event(ALPHA, 2, TextDelta(text="a needle in the hay"))], durable=True)
    await store.index_for_search(seconds=20)
    page = await store.search(SearchQuery(words="needle"))
    assert [hit.session_id for hit in page.hits] == [ALPHA]


async def test_a_database_that_cannot_be_reached_is_named_with_what_to_do(tmp_path: Path) -> None:
    store = PostgresStore(f"postgresql://portico@/postgres?host={tmp_path}", tmp_path)
    with pytest.raises(StoreFailed, match="could not be used") as caught:
        await store.open()
    assert "PORTICO_STORE" in (caught.value.suggestion or "")


async def test_a_lease_that_the_database_is_slow_with_keeps_nothing_else_waiting(
    open_store: Open, database: str
) -> None:
    store, other = await open_store(), await open_store()
    with psycopg.connect(database) as blocking:
        blocking.execute("LOCK TABLE leases IN EXCLUSIVE MODE")
        taking = asyncio.create_task(store.lease("tree /work", "first"))
        leaving = asyncio.create_task(store.lease("tree /left", "first"))
        async with asyncio.timeout(30):
            assert await store.summaries() == []
        assert not taking.done()
        leaving.cancel()
    async with asyncio.timeout(30):
        assert await taking is not None
        with pytest.raises(asyncio.CancelledError):
            await leaving
        # What was taken for a caller that is gone is given back.
        await eventually(lambda: other.lease("tree /left", "second"), lambda taken: taken is not None)
    assert await other.lease_holder("tree /work") == "first"
