"""Sessions that the agent kept itself are continued in Portico."""

from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import AuthRequired, InvalidInput
from portico.domain.events import (
    Event,
    Notice,
    PromptSubmitted,
    SessionStarted,
    StateChanged,
    TextDelta,
    TurnEnded,
)
from portico.domain.turns import TurnState
from portico.domain.values import AgentSession
from portico.rpc.messages import RpcError
from portico.sessions.turn import TurnPrompt
from tests.sessions.support import SPEC, FakeAgent, World, kinds, text, world

LOADS = acp.AgentCapabilities(
    load_session=True,
    session_capabilities=acp.SessionCapabilities(
        resume=acp.SessionResumeCapabilities(), delete=acp.SessionDeleteCapabilities()
    ),
)
IMAGE = acp.ImageContent(data="AAAA", mime_type="image/png")


def asked(words: str, message_id: str | None = None) -> acp.UserMessageChunk:
    return acp.UserMessageChunk(content=acp.TextContent(text=words), message_id=message_id)


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("and on")


def telling(host: World, *updates: acp.SessionUpdate) -> None:
    """Let the agent tell this while it loads a session."""

    async def tell(way: str, session_id: str) -> None:
        host.agent.talking_in = session_id
        for update in updates:
            host.agent.update(update)

    host.agent.on_reopen = tell


async def adopt(host: World, name: str = "old-1") -> int:
    host.session_id, begun = await host.service.adopt(host.folder, SPEC, name)
    return begun


def dialogue(events: list[Event]) -> list[tuple[str | None, str]]:
    return [
        (event.turn_id, event.payload.text)
        for event in events
        if isinstance(event.payload, PromptSubmitted | TextDelta)
    ]


async def test_what_the_agent_tells_again_becomes_turns_that_are_over(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        telling(
            host,
            asked("find "),
            asked("it"),
            acp.ToolCall(tool_call_id="c1", title="Search", kind="search"),
            acp.ToolCallProgress(tool_call_id="c1", status="completed"),
            text("Found."),
            asked("fix it"),
            text("Fixed."),
        )
        begun = await adopt(host)
        events = await host.events()
        assert kinds(events) == [
            "session_started",
            *("prompt_submitted", "tool_started", "tool_completed", "text_delta", "turn_ended"),
            *("prompt_submitted", "text_delta", "turn_ended"),
            "state_changed",
            "session_started",
        ]
        assert dialogue(events) == [("t1", "find it"), ("t1", "Found."), ("t2", "fix it"), ("t2", "Fixed.")]
        ends = [event.payload for event in events if isinstance(event.payload, TurnEnded)]
        assert [(end.stop_reason, end.tools_used) for end in ends] == [("retold", 1), ("retold", 0)]
        assert begun == events[-1].seq
        summary = await host.service.show(host.session_id)
        assert (summary.title, summary.state) == ("find it", TurnState.IDLE)


async def test_it_goes_on_where_it_was_with_a_turn_of_its_own(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        telling(host, asked("find it"), text("Found."))
        await adopt(host)
        turn = await host.prompt("go on")
        assert host.agent.prompts[-1].session_id == "old-1"
        assert host.agent.prompts[-1].prompt == [acp.TextContent(text="go on")]
        assert {event.turn_id for event in turn} == {"t2"}
        assert "session/new" not in host.agent.methods


async def test_messages_with_names_of_their_own_are_prompts_of_their_own(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        telling(
            host,
            asked("one", "m1"),
            acp.UserMessageChunk(content=IMAGE, message_id="m1"),
            asked("two", "m2"),
            text("Done."),
        )
        await adopt(host)
        events = await host.events()
        assert dialogue(events) == [("t1", "one"), ("t2", "two"), ("t2", "Done.")]
        first = next(event.payload for event in events if isinstance(event.payload, PromptSubmitted))
        assert len(first.blocks) == 1


async def test_an_agent_that_only_resumes_tells_nothing_and_goes_on(tmp_path: Path) -> None:
    resumes = acp.AgentCapabilities(
        session_capabilities=acp.SessionCapabilities(resume=acp.SessionResumeCapabilities())
    )
    async with world(echo, tmp_path, capabilities=resumes) as host:
        await adopt(host)
        events = await host.events()
        assert kinds(events) == ["session_started", "state_changed", "session_started"]
        reached = events[1].payload
        assert isinstance(reached, StateChanged)
        assert reached.agent_session == AgentSession(agent_session_id="old-1", attached_by="resume")
        assert len(dialogue(await host.prompt())) == 2


@pytest.mark.parametrize("capabilities", [LOADS, acp.AgentCapabilities()])
async def test_one_that_cannot_go_on_leaves_nothing_behind(
    tmp_path: Path, capabilities: acp.AgentCapabilities
) -> None:
    async def refuse(way: str, session_id: str) -> None:
        raise RpcError(-32002, "session not found")

    async with world(echo, tmp_path, capabilities=capabilities) as host:
        host.agent.on_reopen = refuse
        with pytest.raises(InvalidInput, match="cannot continue its session old-1") as caught:
            await adopt(host)
        assert "portico agents sessions fake" in (caught.value.suggestion or "")
        assert await host.store.summaries() == []


async def test_one_that_wants_a_sign_in_first_says_so(tmp_path: Path) -> None:
    async def refuse(way: str, session_id: str) -> None:
        raise RpcError(-32000, "who are you?")

    async with world(echo, tmp_path, capabilities=LOADS) as host:
        host.agent.on_reopen = refuse
        with pytest.raises(AuthRequired, match="who are you"):
            await adopt(host)
        assert await host.store.summaries() == []


async def test_deleting_it_here_leaves_the_agents_own_alone(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        await adopt(host)
        await host.service.delete(host.session_id)
        assert not any(method.startswith("session/delete") for method in host.agent.methods)
        fresh = await host.service.start(tmp_path, SPEC)
        await host.service.session(fresh).prompt(TurnPrompt(text="hello"))
        await host.service.delete(fresh)
        assert host.agent.methods[-1] == "session/delete a1"


async def test_a_strange_update_of_old_is_kept_in_its_place(tmp_path: Path) -> None:
    async def tell(way: str, session_id: str) -> None:
        host.agent.talking_in = session_id
        host.agent.update(asked("what is it?"))
        assert host.agent.end is not None
        await host.agent.end.drain()
        host.agent.write_raw(
            b'{"jsonrpc":"2.0","method":"session/update","params":'
            b'{"sessionId":"old-1","update":{"sessionUpdate":"hologram"}}}'
        )

    async with world(echo, tmp_path, capabilities=LOADS) as host:
        host.agent.on_reopen = tell
        await adopt(host)
        events = await host.events()
        (notice,) = [event for event in events if isinstance(event.payload, Notice)]
        assert notice.turn_id == "t1"


async def test_the_commands_that_an_agent_tells_while_it_loads_are_known(tmp_path: Path) -> None:
    commands = acp.AvailableCommandsUpdate(
        available_commands=[acp.AvailableCommand(name="test", description="Run the tests")]
    )
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        await host.prompt("one")
        await host.lose_agent()
        telling(host, asked("one"), text("and on"), commands)
        turn = await host.prompt("two")
        assert kinds(turn).count("commands_updated") == 1
        reached = [event.payload for event in turn if isinstance(event.payload, StateChanged)]
        sessions = [one.agent_session for one in reached if one.agent_session is not None]
        assert [session.replayed_updates for session in sessions] == [2]


async def test_the_log_says_whose_conversation_it_was(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        await adopt(host)
        first, *_, last = [
            event.payload for event in await host.events() if isinstance(event.payload, SessionStarted)
        ]
        assert (first.adopts, first.continued, last.adopts, last.continued) == ("old-1", False, None, True)


async def test_the_past_of_an_adopted_session_is_not_told_twice(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=acp.AgentCapabilities(load_session=True)) as host:
        telling(host, asked("find it"), text("Found."))
        await adopt(host)
        await host.lose_agent()
        turn = await host.prompt("go on")
        assert dialogue(turn) == [("t2", "go on"), ("t2", "and on")]
        counted = [
            event.payload.agent_session.replayed_updates
            for event in turn
            if isinstance(event.payload, StateChanged) and event.payload.agent_session is not None
        ]
        assert counted == [2]
