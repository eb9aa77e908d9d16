"""Agents and their sessions: one process for several, started early, started again after a crash."""

import asyncio
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import AgentTimedOut
from portico.domain.events import CommandsUpdated, ErrorReported, Notice, StateChanged, TextDelta
from portico.domain.turns import TurnState
from portico.sessions.turn import TurnPrompt
from tests.sessions.support import SPEC, FakeAgent, World, states, world
from tests.support.looping import until


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    block = request.prompt[-1]
    assert isinstance(block, acp.TextContent)
    agent.say(f"{request.session_id} {block.text}")


async def die(agent: FakeAgent, request: acp.PromptRequest) -> None:
    assert agent.end is not None
    await agent.end.close()


async def test_sessions_of_one_agent_in_one_folder_share_a_process_and_hear_only_their_own(
    tmp_path: Path,
) -> None:
    async with world(echo, tmp_path) as host:
        first = await host.start()
        second = await host.service.start(tmp_path, SPEC)
        for session_id, words in ((first, "one"), (second, "two"), (first, "three")):
            await host.service.session(session_id).prompt(TurnPrompt(text=words))
        assert len(host.agents.launched) == 1
        said = {
            session_id: [
                event.payload.text
                for event in await host.store.read(session_id, after_seq=0, limit=1000)
                if isinstance(event.payload, TextDelta)
            ]
            for session_id in (first, second)
        }
    assert said == {first: ["a1 one", "a1 three"], second: ["a2 two"]}


async def test_an_agent_that_speaks_another_version_of_the_protocol_is_not_used(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        host.agent.protocol_version = 2
        turn = await host.prompt()
        (reported,) = [event.payload for event in turn if isinstance(event.payload, ErrorReported)]
        assert "speaks version 2 of ACP; Portico speaks version 1" in reported.message
        assert host.agent.openings == []
        assert host.agents.launched[0].stopped_with_grace == 0


async def test_another_folder_gets_an_agent_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with world(echo, tmp_path) as host:
        await host.prompt()
        elsewhere = await host.service.start(other, SPEC)
        await host.service.session(elsewhere).prompt(TurnPrompt(text="hello"))
        assert len(host.agents.launched) == 2


async def test_the_agent_ends_with_its_last_session(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        first = await host.start()
        second = await host.service.start(tmp_path, SPEC)
        for session_id in (first, second):
            await host.service.session(session_id).prompt(TurnPrompt(text="hello"))
        await host.service.delete(first)
        assert host.agents.launched[0].stopped_with_grace is None
        await host.service.delete(second)
        assert host.agents.launched[0].stopped_with_grace is not None


async def test_an_agent_started_early_tells_its_commands_and_answers_the_first_prompt_at_once(
    tmp_path: Path,
) -> None:
    async def announce() -> None:
        commands = [acp.AvailableCommand(name="test", description="Run the tests")]
        host.agent.update(acp.AvailableCommandsUpdate(available_commands=commands))

    async with world(echo, tmp_path) as host:
        host.agent.on_new = announce
        await host.start()
        await host.service.session(host.session_id).connect()
        told = await host.until(lambda payload: isinstance(payload, CommandsUpdated))
        assert isinstance(told.payload, CommandsUpdated)
        assert told.payload.commands[0].name == "test"
        turn = await host.prompt()
    assert states(turn) == ["running", "streaming", "completed"]


async def test_an_early_start_that_hangs_says_so_at_its_deadline(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        host.agent.initialize_gate = asyncio.Event()
        await host.start()
        connecting = asyncio.create_task(host.service.session(host.session_id).connect())
        await host.clock.until_sleeping()
        await host.clock.advance(61)
        with pytest.raises(AgentTimedOut, match="initialize"):
            await connecting


class TestReviving:
    async def test_a_lost_agent_is_started_again_and_finds_its_session(self, tmp_path: Path) -> None:
        async def die_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
            if len(agent.prompts) == 1:
                await die(agent, request)
            agent.say("back")

        capabilities = acp.AgentCapabilities(load_session=True)
        async with world(die_once, tmp_path, capabilities=capabilities) as host:
            await host.prompt()
            assert states(await host.events())[-1] == "interrupted"
            await host.until(lambda payload: isinstance(payload, Notice) and "was restarted" in payload.text)
            assert host.agent.methods[-1] == "session/load"
            ready = (await host.events())[-2].payload
            assert isinstance(ready, StateChanged)
            assert ready.state is TurnState.INTERRUPTED
            assert ready.agent_session is not None
            assert ready.agent_session.attached_by == "load"
            turn = await host.prompt()
        assert states(turn) == ["resuming", "running", "streaming", "completed"]

    async def test_one_that_keeps_dying_is_left_alone_after_five_tries(self, tmp_path: Path) -> None:
        async def die_at_once() -> None:
            assert host.agent.end is not None
            await host.agent.end.close()

        async with world(die, tmp_path) as host:
            await host.prompt()
            host.agent.on_new = die_at_once
            await host.until(lambda payload: isinstance(payload, Notice) and "could not be" in payload.text)
            assert len(host.agents.launched) == 6

    async def test_a_prompt_does_not_wait_for_the_next_try(self, tmp_path: Path) -> None:
        async with world(die, tmp_path) as host:
            await host.prompt()
            await self._prompt_at_once(host)

    async def _prompt_at_once(self, host: World) -> None:
        turn = asyncio.create_task(host.service.session(host.session_id).prompt(TurnPrompt(text="again")))
        await until(lambda: len(host.agents.launched) == 2)
        await turn
