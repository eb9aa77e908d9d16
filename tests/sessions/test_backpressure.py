"""Backpressure: an agent that floods waits for the disk, and no reader is buffered without limit."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.errors import StoreFailed
from portico.domain.events import Event, Notice, PromptSubmitted, SessionStarted, TextDelta
from portico.domain.ids import SessionId
from portico.sessions.log.backlog import MAX_BACKLOG, Backlog
from portico.sessions.log.entry import size_of
from portico.sessions.log.journal import MAX_REFUSED, MAX_UNWRITTEN, RECENT_BYTES, RECENT_EVENTS, Journal
from portico.sessions.log.watch import PAGE_BYTES
from portico.sessions.turn import TurnPrompt
from portico.testing.clock import ManualClock
from portico.testing.store import MemoryStore
from tests.sessions.support import SPEC, FakeAgent, World, text, world
from tests.support.looping import until

PIECE = "x" * 10_000
PIECES = 500
LARGE = 100_000
SECONDS_TO_END = 30
ROUNDS = 5_000
"""Rounds of the loop until everything that can move has moved."""


Piece = Callable[[int], acp.SessionUpdate]


class Flood:
    """An agent that says so much in each of its sessions as it is let. Nothing of what it says is small."""

    def __init__(self, pieces: int, piece: Piece = lambda _: text(PIECE)) -> None:
        self._pieces = pieces
        self._piece = piece
        self.sent = 0

    async def __call__(self, agent: FakeAgent, request: acp.PromptRequest) -> None:
        assert agent.end is not None
        for number in range(self._pieces):
            agent.end.update(request.session_id, self._piece(number))
            self.sent += 1
            await agent.end.drain()


@asynccontextmanager
async def held(host: World, flood: Flood) -> AsyncIterator[None]:
    """A store that takes prompts, and does not answer otherwise once an agent speaks, until the end of the block."""
    released = asyncio.Event()

    async def hold(events: Sequence[Event]) -> None:
        if flood.sent and not isinstance(events[0].payload, PromptSubmitted):
            await released.wait()

    host.store.before_append = hold
    try:
        yield
    finally:
        released.set()


async def until_it_stands(flood: Flood) -> None:
    await until(lambda: flood.sent)
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


async def until_done(host: World, *turns: "asyncio.Task[object]") -> None:
    """Until they are over, while time passes as it does."""
    async with asyncio.timeout(SECONDS_TO_END):
        while not all(turn.done() for turn in turns):
            await host.clock.advance(0.02)
    for turn in turns:
        turn.result()


def told(events: Sequence[Event]) -> str:
    return "".join(event.payload.text for event in events if isinstance(event.payload, TextDelta))


async def test_an_agent_that_floods_waits_until_the_log_has_kept_up(tmp_path: Path) -> None:
    flood = Flood(PIECES)
    async with world(flood, tmp_path) as host:
        await host.start()
        async with held(host, flood):
            turn = host.prompting()
            await until_it_stands(flood)
            # What waits for the disk, and what the two ends of the wire may hold.
            assert MAX_UNWRITTEN / 2 < flood.sent * len(PIECE) < 2 * MAX_UNWRITTEN
        await until_done(host, turn)
        assert told(await host.events()) == PIECE * PIECES


async def test_sessions_that_flood_together_wait_for_the_log_long_before_each_is_at_its_own_bound(
    tmp_path: Path,
) -> None:
    sessions, pieces = 30, 80
    flood = Flood(pieces)
    async with world(flood, tmp_path) as host:
        names = [await host.service.start(tmp_path, SPEC, reads_only=True) for _ in range(sessions)]
        async with held(host, flood):
            turns: list[asyncio.Task[object]] = [
                asyncio.create_task(host.service.session(name).prompt(TurnPrompt(text="go")))
                for name in names
            ]
            await until_it_stands(flood)
            assert MAX_BACKLOG / 2 < flood.sent * len(PIECE) < MAX_BACKLOG + 2 * MAX_UNWRITTEN
        await until_done(host, *turns)
        for name in names:
            assert told(await host.store.read(name, after_seq=0, limit=10_000)) == PIECE * pieces


def image(number: int) -> acp.SessionUpdate:
    return acp.AgentMessageChunk(content=acp.ImageContent(data="A" * LARGE, mime_type="image/png"))


def tool_output(number: int) -> acp.SessionUpdate:
    return acp.ToolCallProgress(tool_call_id="c1", status="in_progress", raw_output="x" * LARGE)


def tool_content(number: int) -> acp.SessionUpdate:
    content = acp.Content(content=acp.TextContent(text=f"{number:02}" + "x" * LARGE))
    return acp.ToolCall(tool_call_id=f"c{number}", title="look", content=[content])


def plan(number: int) -> acp.SessionUpdate:
    return acp.Plan(entries=[acp.PlanEntry(content="x" * LARGE, priority="low", status="pending")])


@pytest.mark.parametrize("update", [image, tool_output, tool_content, plan])
async def test_whatever_an_agent_floods_with_counts_for_what_it_is(tmp_path: Path, update: Piece) -> None:
    flood = Flood(50, update)
    async with world(flood, tmp_path) as host:
        await host.start()
        async with held(host, flood):
            turn = host.prompting()
            await until_it_stands(flood)
            assert flood.sent < 2 * MAX_UNWRITTEN / LARGE
        await until_done(host, turn)
        journal = host.service.session(host.session_id).runtime.journal
        last = (await host.events())[-1].seq
        at_hand = next(filter(None, (journal.recent_after(seq) for seq in range(last))))
        assert sum(size_of(event.payload) for event in at_hand) <= RECENT_BYTES
        assert last > 50


async def test_what_has_to_be_safe_waits_for_the_disk_whichever_write_takes_it_along() -> None:
    store = DurabilityStore()
    journal = Journal(SessionId("s1"), store, ManualClock(), Backlog(), last_seq=0)
    journal.record(
        SessionStarted(workspace="/w", agent="a", continued=False, mode="direct", portico_version="1")
    )
    writing = asyncio.create_task(journal.run())
    await asyncio.sleep(0)
    await journal.commit(PromptSubmitted(text="hello"))
    assert store.safe == {"session_started", "prompt_submitted"}
    writing.cancel()
    await asyncio.wait((writing,))


async def test_many_small_pieces_count_for_the_memory_they_take() -> None:
    journal = Journal(SessionId("s1"), MemoryStore(), ManualClock(), Backlog(), last_seq=0)
    journal.record(TextDelta(text="ab"))
    before = journal._unwritten.size
    for _ in range(1_000):
        journal.record(TextDelta(text="ab"))
    assert journal._unwritten.size - before >= 1_000 * sys.getsizeof("ab")


async def test_an_agent_that_floods_and_does_not_obey_is_not_read_while_the_log_refuses(
    tmp_path: Path,
) -> None:
    flood = Flood(PIECES * 2)

    async def refuse(_: Sequence[Event]) -> None:
        if flood.sent:
            raise StoreFailed("The disk is full.")

    async with world(flood, tmp_path) as host:
        await host.start()
        host.store.before_append = refuse
        turn = host.prompting()
        await until_it_stands(flood)
        assert MAX_REFUSED / 2 < flood.sent * len(PIECE) < 2 * MAX_REFUSED
        host.store.before_append = None
        await host.clock.advance(1)
        await until(lambda: flood.sent == PIECES * 2)
        await host.clock.advance(1)
        await until_done(host, turn)
        assert told(await host.events()) == PIECE * PIECES * 2


async def test_a_session_that_was_let_go_of_does_not_hold_its_agent_whatever_became_of_its_log() -> None:
    store, clock = MemoryStore(), ManualClock()

    async def refuse(_: Sequence[Event]) -> None:
        raise StoreFailed("The disk is full.")

    store.before_append = refuse
    journal = Journal(SessionId("s1"), store, clock, Backlog(), last_seq=0)
    journal.record(TextDelta(text="x" * MAX_REFUSED))
    ready = asyncio.create_task(journal.ready())
    await clock.advance(10)
    assert not ready.done()
    await journal.close()
    await clock.advance(10)
    assert ready.done()


async def test_a_watcher_that_is_far_behind_is_given_a_page_of_bounded_size(tmp_path: Path) -> None:
    store = PagedStore()
    async with world(Flood(0), tmp_path, store=store) as host:
        await host.start()
        for _ in range(30):
            large = Notice(level="info", text="large", raw=Raw(b'"' + b"x" * (PAGE_BYTES // 4) + b'"'))
            await host.service.record(host.session_id, large)
        stream = host.service.watch(host.session_id, after_seq=0)
        seen = [(await anext(stream)).seq for _ in range(31)]
        await stream.aclose()
        assert seen == list(range(1, 32))
        assert max(store.pages) < 2 * PAGE_BYTES


class DurabilityStore(MemoryStore):
    """Takes down what was on the disk when it said that it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.safe: set[str] = set()

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        await super().append(events, durable=durable)
        if durable:
            self.safe |= {event.kind for event in events}


class PagedStore(MemoryStore):
    """Takes down how large the pages are that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[int] = []

    async def read(self, *arguments: object, **options: object) -> list[Event]:
        page = await super().read(*arguments, **options)  # type: ignore[arg-type]
        self.pages.append(sum(size_of(event.payload) for event in page))
        return page


async def test_memory_keeps_only_the_newest_events_of_a_session(tmp_path: Path) -> None:
    async def many(agent: FakeAgent, request: acp.PromptRequest) -> None:
        for number in range(3 * RECENT_EVENTS):
            agent.update(acp.ToolCall(tool_call_id=f"c{number}", title="step"))

    async with world(many, tmp_path) as host:
        await host.prompt()
        last = (await host.events())[-1].seq
        live = host.service.session(host.session_id).runtime.journal
        assert live.recent_after(0) == []
        assert len(live.recent_after(last - RECENT_EVENTS)) == RECENT_EVENTS
