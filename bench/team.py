"""Log in PostgreSQL beside the file and beside psycopg alone, and delivery through another node.

The server comes from the wheel of the tests, with fsync on, and every transaction waits for its commit.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg

from bench.report import Line, Section, ratio
from bench.samples import Samples, take_turns_waiting
from bench.tail import events_of
from portico.domain.ids import SessionId
from portico.sessions.ports import Store
from portico.store.postgres.store import PostgresStore
from portico.store.rows import event_row
from portico.store.sqlite import SqliteStore
from tests.support.postgres import PostgresServer
from tests.support.team import TeamNode

SESSIONS, BATCHES, BATCH = 20, 5, 10
ROUNDS = 3
DELTAS = 200
_INSERT = "INSERT INTO plain VALUES (%s, %s, %s, %s, %s, %s)"


def measure() -> Section:
    with tempfile.TemporaryDirectory(prefix="tb", dir="/tmp") as folder:
        postgres = PostgresServer(Path(folder) / "pg", fsync="on")
        postgres.folder.mkdir()
        postgres.create()
        postgres.start()
        try:
            rates = asyncio.run(_measure_rates(Path(folder), postgres.new_database()))
            own, other = _measure_delivery(Path(folder), postgres.new_database())
        finally:
            postgres.stop()
    file, database, insert, copy = rates
    return Section(
        title=f"A team's log: {SESSIONS} sessions append {BATCH} events at a time, durably",
        lines=(
            Line(what="SQLite", samples=file, unit="per second"),
            Line(what="PostgreSQL", samples=database, unit="per second"),
            Line(what="psycopg, INSERT alone, one connection", samples=insert, unit="per second"),
            Line(what="psycopg, COPY alone, one connection", samples=copy, unit="per second"),
            ratio("PostgreSQL over INSERT alone", database, insert),
            Line(what="delivery at the owner, median", samples=_at(own, 0.5), unit="seconds"),
            Line(what="delivery at the owner, 99th of 100", samples=_at(own, 0.99), unit="seconds"),
            Line(what="delivery through another node, median", samples=_at(other, 0.5), unit="seconds"),
            Line(what="delivery through another node, 99th of 100", samples=_at(other, 0.99), unit="seconds"),
        ),
        notes=("Delivery is from the record of an event to its arrival at a watcher, the commit included.",),
    )


def _at(waits: list[float], share: float) -> Samples:
    return Samples((sorted(waits)[int(share * (len(waits) - 1))],))


async def _measure_rates(folder: Path, database: str) -> list[Samples]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE plain (session TEXT, seq BIGINT, turn_id TEXT, at BIGINT, kind TEXT, payload BYTEA)"
        )
    rounds = iter(range(1_000_000))

    async def by_store(store: Store) -> float:
        number = next(rounds)
        started = time.perf_counter()
        await asyncio.gather(*(_append(store, SessionId(f"s{number}-{one}")) for one in range(SESSIONS)))
        return SESSIONS * BATCHES * BATCH / (time.perf_counter() - started)

    async def sqlite() -> float:
        store = SqliteStore(folder / "file")
        await store.open()
        try:
            return await by_store(store)
        finally:
            await store.close()

    async def postgres() -> float:
        store = PostgresStore(database, folder)
        await store.open()
        try:
            return await by_store(store)
        finally:
            await store.close()

    contenders: dict[str, Callable[[], Awaitable[float]]] = {
        "1 file": sqlite,
        "2 database": postgres,
        "3 insert": lambda: asyncio.to_thread(_insert, database, copy=False),
        "4 copy": lambda: asyncio.to_thread(_insert, database, copy=True),
    }
    found = await take_turns_waiting(contenders, ROUNDS)
    return [Samples(tuple(found[name])) for name in sorted(found)]


async def _append(store: Store, session_id: SessionId) -> None:
    events = list(events_of(session_id, BATCHES * BATCH))
    for first in range(0, len(events), BATCH):
        await store.append(events[first : first + BATCH], durable=True)


def _insert(database: str, *, copy: bool) -> float:
    """The same rows by psycopg alone, in as many transactions."""
    rows = [
        [(session, row.seq, row.turn_id, row.at, row.kind, row.payload) for row in map(event_row, batch)]
        for session in (f"s{number}" for number in range(SESSIONS))
        for events in [list(events_of(SessionId(session), BATCHES * BATCH))]
        for batch in (events[first : first + BATCH] for first in range(0, len(events), BATCH))
    ]
    with psycopg.connect(database, autocommit=True) as connection:
        started = time.perf_counter()
        for batch in rows:
            with connection.transaction(), connection.cursor() as cursor:
                if copy:
                    with cursor.copy("COPY plain FROM STDIN") as copying:
                        for row in batch:
                            copying.write_row(row)
                else:
                    cursor.executemany(_INSERT, batch)
        return SESSIONS * BATCHES * BATCH / (time.perf_counter() - started)


def _measure_delivery(folder: Path, database: str) -> tuple[list[float], list[float]]:
    """Delays of the events of a turn to a watcher at the owner, and to one at another node."""
    shared = folder / "shared"
    shared.mkdir()
    nodes = [TeamNode(name, folder, database, shared) for name in ("alpha", "beta")]
    try:
        for node in nodes:
            node.serve()
        owner, other = nodes
        waits = []
        for watched_at in (owner, other):
            session_id = owner.begin(workspace=str(owner.workspace))
            stream = watched_at.server.stream("Watch", {"sessionId": session_id})
            owner.prompt(session_id, f"stream {DELTAS} 40 20", "say the last word")
            waits.append(stream.delays_until("STATE_COMPLETED"))
            stream.leave()
    finally:
        for node in nodes:
            node.close()
    return waits[0], waits[1]
