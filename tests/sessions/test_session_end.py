"""Requests to the agent when a session is closed or deleted."""

import asyncio
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import SessionNotFound
from portico.rpc.messages import RpcError
from portico.sessions.turn import TurnPrompt
from tests.sessions.support import SPEC, FakeAgent, world

CLOSE_AND_DELETE = acp.AgentCapabilities(
    session_capabilities=acp.SessionCapabilities(
        close=acp.SessionCloseCapabilities(), delete=acp.SessionDeleteCapabilities()
    )
)


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


def last_words(agent: FakeAgent) -> list[str]:
    return [method for method in agent.methods if method.startswith(("session/close", "session/delete"))]


async def test_a_closed_session_is_closed_at_the_agent_too(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=CLOSE_AND_DELETE) as host:
        await host.prompt()
        await host.service.close()
        assert last_words(host.agent) == ["session/close a1"]


async def test_a_deleted_session_is_deleted_at_the_agent_too_and_others_go_on(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=CLOSE_AND_DELETE) as host:
        await host.prompt()
        other = await host.service.start(tmp_path, SPEC)
        await host.service.session(other).prompt(TurnPrompt(text="hello"))
        await host.service.delete(host.session_id)
        assert last_words(host.agent) == ["session/delete a1"]
        await host.service.session(other).prompt(TurnPrompt(text="again"))
        assert len(host.agents.launched) == 1


async def test_an_agent_that_does_not_offer_it_is_told_nothing(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt()
        await host.service.delete(host.session_id)
        assert last_words(host.agent) == []


async def test_an_agent_that_was_never_started_is_not_started_for_that(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=CLOSE_AND_DELETE) as host:
        await host.start()
        await host.service.delete(host.session_id)
        assert host.agents.launched == []


async def test_one_that_refuses_keeps_nobody(tmp_path: Path) -> None:
    async def refuse() -> None:
        raise RpcError(-32603, "not now")

    async with world(echo, tmp_path, capabilities=CLOSE_AND_DELETE) as host:
        host.agent.on_end = refuse
        await host.prompt()
        await host.service.delete(host.session_id)
        with pytest.raises(SessionNotFound):
            await host.service.show(host.session_id)


async def test_one_that_does_not_answer_is_waited_for_a_moment_only(tmp_path: Path) -> None:
    async def hang() -> None:
        asked.set()
        await asyncio.Event().wait()

    asked = asyncio.Event()
    async with world(echo, tmp_path, capabilities=CLOSE_AND_DELETE) as host:
        host.agent.on_end = hang
        await host.prompt()
        closing = asyncio.create_task(host.service.close())
        await asked.wait()
        await host.clock.until_sleeping()
        await host.clock.advance(1.9)
        assert not closing.done()
        await host.clock.advance(0.2)
        async with asyncio.timeout(10):
            await closing
