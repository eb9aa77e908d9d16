"""Full-text search over a log of a million events, and what its index costs.

The words are drawn from a vocabulary in which, as in any language, few are frequent and most are rare.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Iterator
from itertools import accumulate
from pathlib import Path

from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico import __version__
from portico.domain.events import AnyPayload, Event, PromptSubmitted, SessionStarted, TextDelta, ToolStarted
from portico.domain.ids import SessionId, make_turn_id
from portico.domain.search import SearchQuery
from portico.domain.values import Location
from portico.store.sqlite import SqliteStore

SESSIONS, EVENTS = 500, 2_000
ROUNDS = 15
_VOCABULARY = [f"w{number:05}" for number in range(30_000)]
_WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(_VOCABULARY))))
_EVENTS_A_TURN = 40
_RARE, _COMMON, _MIDDLE = _VOCABULARY[29_000], _VOCABULARY[0], _VOCABULARY[300]
_QUERIES = {
    "a rare word": SearchQuery(words=_RARE),
    "a word that is in almost every message": SearchQuery(words=_COMMON),
    "two words": SearchQuery(words=f"{_COMMON} {_MIDDLE}"),
    "the beginning of a word": SearchQuery(words="w003"),
    "a word in one folder of 50": SearchQuery(words=_MIDDLE, workspace="/folder/7"),
    "a file": SearchQuery(words="", path="module_77.py"),
}


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(home: Path) -> Section:
    store = SqliteStore(home)
    await store.open()
    try:
        appended = await _time(_fill(store))
        indexed = await _time(_index(store))
        lines = [
            Line(what="events appended", samples=_rate(appended), unit="per second"),
            Line(what="events indexed", samples=_rate(indexed), unit="per second"),
            Line(what="size of the log", samples=_size(home, "portico.db"), unit="bytes"),
            Line(what="size of the index", samples=_size(home, "search.db"), unit="bytes"),
        ]
        for what, query in _QUERIES.items():
            lines.append(
                Line(
                    what=f"first 50 hits: {what}",
                    samples=await _time_searches(store, query),
                    unit="seconds",
                    budget=Budget("at most", 0.1),
                )
            )
    finally:
        await store.close()
    return Section(title=f"Search over {SESSIONS * EVENTS:,} events", lines=tuple(lines))


async def _time_searches(store: SqliteStore, query: SearchQuery) -> Samples:
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        page = await store.search(query)
        taken.append(time.perf_counter() - started)
        if not page.hits:
            raise MeasurementFailed(f"nothing was found for {query.words or query.path}")
    return Samples(tuple(taken))


async def _fill(store: SqliteStore) -> None:
    chance = random.Random("search")
    for number in range(SESSIONS):
        await store.append(list(_events(number, chance)), durable=False)


async def _index(store: SqliteStore) -> None:
    while await store.index_for_search(seconds=1):
        pass


def _events(session: int, chance: random.Random) -> Iterator[Event]:
    for seq in range(1, EVENTS + 1):
        yield Event(
            session_id=SessionId(f"session-{session:04}"),
            seq=seq,
            turn_id=make_turn_id(seq // _EVENTS_A_TURN + 1) if seq > 1 else None,
            at=1_700_000_000_000 + session * 3_600_000 + seq * 100,
            payload=_payload(session, seq, chance),
        )


def _payload(session: int, seq: int, chance: random.Random) -> AnyPayload:
    words = " ".join(chance.choices(_VOCABULARY, cum_weights=_WEIGHTS, k=8)) + " "
    if seq == 1:
        return SessionStarted(
            workspace=f"/folder/{session % 50}",
            agent="measured",
            continued=False,
            mode="direct",
            portico_version=__version__,
        )
    match seq % _EVENTS_A_TURN:
        case 0:
            return PromptSubmitted(text=words)
        case 20:
            file = Location(path=f"/folder/src/module_{chance.randrange(100)}.py")
            return ToolStarted(
                tool_id=f"t{seq}", title=words, tool_kind="edit", status="pending", locations=(file,)
            )
        case _:
            return TextDelta(text=words)


async def _time(work: Awaitable[None]) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


def _rate(seconds: float) -> Samples:
    return Samples((SESSIONS * EVENTS / seconds,))


def _size(home: Path, name: str) -> Samples:
    return Samples((float(sum(path.stat().st_size for path in home.glob(f"{name}*"))),))
