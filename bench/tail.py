"""Time to open the last page of a long session, compared with a short one."""

import asyncio
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from bench.children import found_by
from bench.report import Budget, Line, Section, ratio
from bench.samples import sample, take_turns
from portico import __version__
from portico.domain.events import AnyPayload, Event, SessionStarted, TextDelta, ToolCompleted, ToolStarted
from portico.domain.ids import SessionId, make_turn_id
from portico.store.sqlite import SqliteStore

SHORT, LONG = 1_000, 100_000
ROUNDS = 25
SESSION = SessionId("measured")
_BATCH = 1_000
_EVENTS_A_TURN = 50


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to the last page and the summary: with opening the store, and once it is open."""

    cold: float
    warm: float


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        homes = {length: Path(folder) / str(length) for length in (SHORT, LONG)}
        for length, home in homes.items():
            asyncio.run(_fill(home, length))
        short, long = take_turns(
            {"short": lambda: _open(homes[SHORT]), "long": lambda: _open(homes[LONG])}, ROUNDS
        ).values()
    cold_short, cold_long = (sample(rounds, lambda opening: opening.cold) for rounds in (short, long))
    warm_short, warm_long = (sample(rounds, lambda opening: opening.warm) for rounds in (short, long))
    return Section(
        title="Opening the tail: the last 200 events and the summary",
        lines=(
            Line(what=f"{SHORT:,} events, new process", samples=cold_short, unit="seconds"),
            Line(
                what=f"{LONG:,} events, new process",
                samples=cold_long,
                unit="seconds",
                budget=Budget("at most", 0.15),
            ),
            ratio("long over short, new process", cold_long, cold_short, Budget("at most", 1.25)),
            Line(what=f"{SHORT:,} events, store open", samples=warm_short, unit="seconds"),
            Line(what=f"{LONG:,} events, store open", samples=warm_long, unit="seconds"),
            ratio("long over short, store open", warm_long, warm_short, Budget("at most", 1.25)),
        ),
        notes=("The system's file cache is warm. Python's own start is not counted.",),
    )


def _open(home: Path) -> Opening:
    return found_by("open_tail", str(home), home=home, result=Opening)


async def _fill(folder: Path, count: int) -> None:
    store = SqliteStore(folder)
    await store.open()
    try:
        events = events_of(SESSION, count)
        while batch := list(islice(events, _BATCH)):
            await store.append(batch, durable=False)
    finally:
        await store.close()


def events_of(session_id: SessionId, count: int) -> Iterator[Event]:
    """Events like those of an agent at work."""
    for seq in range(1, count + 1):
        turn_id = make_turn_id(seq // _EVENTS_A_TURN + 1) if seq > 1 else None
        yield Event(session_id=session_id, seq=seq, turn_id=turn_id, at=seq, payload=_payload(seq))


def _payload(seq: int) -> AnyPayload:
    if seq == 1:
        return SessionStarted(
            workspace="/", agent="measured", continued=False, mode="direct", portico_version=__version__
        )
    match seq % 10:
        case 8:
            return ToolStarted(
                tool_id=f"tool-{seq}", title="Read a file", tool_kind="read", status="in_progress"
            )
        case 9:
            return ToolCompleted(tool_id=f"tool-{seq - 1}", success=True, duration_ms=12)
        case _:
            return TextDelta(text=f"{seq}: " + "what an agent says in sixteen milliseconds " * 4)
