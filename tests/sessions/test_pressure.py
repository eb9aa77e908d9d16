"""Every queue has an end: an agent that floods waits for the disk, and no reader is kept in memory."""

import asyncio
from pathlib import Path

from portico.acp import _schema as acp
from portico.domain.events import TextDelta
from portico.sessions.journal import MAX_PENDING_CHARACTERS, RECENT_EVENTS
from tests.sessions.support import FakeAgent, world
from tests.support.looping import until

PIECE = "x" * 10_000
PIECES = 500


async def test_an_agent_that_floods_waits_until_the_log_has_kept_up(tmp_path: Path) -> None:
    sent = 0
    released = asyncio.Event()
    holding = asyncio.Event()

    async def flood(agent: FakeAgent, request: acp.PromptRequest) -> None:
        nonlocal sent
        assert agent.end is not None
        for _ in range(PIECES):
            agent.say(PIECE)
            sent += 1
            await agent.end.drain()

    async def hold(events: object) -> None:
        if sent:
            holding.set()
            await released.wait()

    async with world(flood, tmp_path) as host:
        await host.start()
        host.store.before_append = hold
        turn = host.prompting()
        await holding.wait()
        for _ in range(2000):
            await asyncio.sleep(0)
        # What waits for the disk, and what the two ends of the wire may hold.
        assert sent * len(PIECE) < 3 * MAX_PENDING_CHARACTERS
        released.set()
        await until(turn.done)
        texts = [event.payload.text for event in await host.events() if isinstance(event.payload, TextDelta)]
    assert "".join(texts) == PIECE * PIECES


async def test_memory_keeps_only_the_newest_events_of_a_session(tmp_path: Path) -> None:
    async def many(agent: FakeAgent, request: acp.PromptRequest) -> None:
        for number in range(3 * RECENT_EVENTS):
            agent.update(acp.ToolCall(tool_call_id=f"c{number}", title="step"))

    async with world(many, tmp_path) as host:
        await host.prompt()
        last = (await host.events())[-1].seq
        live = host.service._live(host.session_id).session.journal
        assert live.recent_after(0) == []
        assert len(live.recent_after(last - RECENT_EVENTS)) == RECENT_EVENTS
