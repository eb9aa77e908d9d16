"""Concurrent users of an agent: it is started once and has one session."""

import asyncio
from pathlib import Path

from portico.acp import _schema as acp
from portico.domain.events import TextDelta
from portico.domain.turns import TurnState
from tests.sessions.support import FakeAgent, world


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hello")


async def test_a_prompt_sent_while_the_agent_starts_goes_to_the_one_session_that_is_being_opened(
    tmp_path: Path,
) -> None:
    async with world(echo, tmp_path) as host:
        asked, opened = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            asked.set()
            await opened.wait()

        host.agent.on_new = hold
        session_id = await host.start()
        connecting = asyncio.create_task(host.service.session(session_id).connect())
        await asyncio.wait_for(asked.wait(), 10)
        turn = host.prompting()
        await host.until_state(TurnState.STARTING)
        opened.set()
        await asyncio.wait_for(asyncio.gather(connecting, turn), 10)
        assert host.agent.methods.count("session/new") == 1
        assert len(host.agents.launched) == 1
        assert any(isinstance(one.payload, TextDelta) for one in await host.events())


async def test_ten_that_want_the_agent_at_once_start_one(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        session_id = await host.start()
        await asyncio.wait_for(
            asyncio.gather(*(host.service.session(session_id).connect() for _ in range(10))), 10
        )
        assert host.agent.methods == ["initialize", "session/new"]
