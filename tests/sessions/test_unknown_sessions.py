"""An agent that says yes to a session it does not know is told what was said, and the conversation continues."""

from pathlib import Path

import pytest
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.events import Event, Notice, StateChanged, TextDelta, TurnEnded
from portico.rpc.messages import RpcError
from tests.sessions.support import FakeAgent, World, world

LOADS = acp.AgentCapabilities(load_session=True)
RESUMES = acp.AgentCapabilities(
    session_capabilities=acp.SessionCapabilities(resume=acp.SessionResumeCapabilities())
)


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


def ways(turn: list[Event]) -> list[str]:
    """Ways in which the agent's session was reached, in order."""
    reached = [event.payload.agent_session for event in turn if isinstance(event.payload, StateChanged)]
    return [session.attached_by for session in reached if session is not None]


def ended(turn: list[Event]) -> str:
    return next(event.payload.state.value for event in turn if isinstance(event.payload, TurnEnded))


def warnings(turn: list[Event]) -> str:
    notices = [event.payload for event in turn if isinstance(event.payload, Notice)]
    return " ".join(f"{notice.text} {notice.details}" for notice in notices)


def told(host: World) -> str:
    return " ".join(
        block.text for block in host.agent.prompts[-1].prompt if isinstance(block, acp.TextContent)
    )


def refusing(error: RpcError, refused: str = "a1") -> object:
    """An agent that reopens any session, and refuses the prompts of one that an earlier process made."""

    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        if request.session_id == refused and agent.methods.count("initialize") > 1:
            raise error
        agent.say("hi")

    return answer


async def test_a_load_that_tells_nothing_again_falls_back_to_a_summary(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=LOADS) as host:
        await host.prompt("remember the number 7")
        await host.lose_agent()
        turn = await host.prompt("which number?")
        assert host.agent.methods[-3:] == ["session/load", "session/new", "session/prompt"]
        assert "Person: remember the number 7" in told(host)
        again = await host.prompt("and now?")
        assert "earlier-conversation" not in told(host)
    assert ways(turn) == ["replay"]
    assert "replayed nothing of the conversation" in warnings(turn)
    assert (ended(turn), ended(again)) == ("completed", "completed")


async def test_a_load_is_believed_if_the_agent_never_said_anything(tmp_path: Path) -> None:
    async def silent(agent: FakeAgent, request: acp.PromptRequest) -> None: ...

    async with world(silent, tmp_path, capabilities=LOADS) as host:
        await host.prompt()
        await host.lose_agent()
        assert ways(await host.prompt()) == ["load"]


async def test_settings_that_come_with_a_load_are_not_a_conversation(tmp_path: Path) -> None:
    async def set_mode(way: str, session_id: str) -> None:
        host.agent.update(acp.CurrentModeUpdate(current_mode_id="plan"))

    async with world(echo, tmp_path, capabilities=LOADS) as host:
        await host.prompt()
        host.agent.on_reopen = set_mode
        await host.lose_agent()
        assert ways(await host.prompt()) == ["replay"]


@pytest.mark.parametrize(
    "error",
    [
        RpcError(-32602, "Invalid params", Raw(b'{"sessionId":"a1"}')),
        RpcError(-32602, "Unknown session"),
        RpcError(-32002, "Resource not found: a1"),
    ],
)
async def test_a_first_prompt_that_is_refused_in_the_sessions_name_is_sent_to_a_new_one(
    tmp_path: Path, error: RpcError
) -> None:
    async with world(refusing(error), tmp_path, capabilities=RESUMES) as host:  # type: ignore[arg-type]
        await host.prompt("remember the number 7")
        await host.lose_agent()
        # The new process numbers its sessions from the beginning too; this one shall be another.
        host.agent.on_new = lambda: _skip_one(host)
        turn = await host.prompt("which number?")
        assert host.agent.methods[-4:] == [
            "session/resume", "session/prompt", "session/new", "session/prompt",
        ]  # fmt: skip
        assert "Person: remember the number 7" in told(host)
    assert ways(turn) == ["resume", "replay"]
    assert ended(turn) == "completed"
    assert error.message in warnings(turn)
    assert [event.payload.text for event in turn if isinstance(event.payload, TextDelta)] == ["hi"]


@pytest.mark.parametrize(
    "error", [RpcError(-32602, "the prompt has no text"), RpcError(-32603, "session a1 failed")]
)
async def test_any_other_refusal_fails_the_turn(tmp_path: Path, error: RpcError) -> None:
    async with world(refusing(error), tmp_path, capabilities=RESUMES) as host:  # type: ignore[arg-type]
        await host.prompt()
        await host.lose_agent()
        turn = await host.prompt()
    assert ways(turn) == ["resume"]
    assert ended(turn) == "failed"


async def test_a_second_refusal_fails_the_turn(tmp_path: Path) -> None:
    error = RpcError(-32602, "Unknown session")

    async def refuse(agent: FakeAgent, request: acp.PromptRequest) -> None:
        if agent.methods.count("initialize") > 1:
            raise error
        agent.say("hi")

    async with world(refuse, tmp_path, capabilities=RESUMES) as host:
        await host.prompt()
        await host.lose_agent()
        turn = await host.prompt()
        assert host.agent.methods.count("session/prompt") == 3
    assert ended(turn) == "failed"


async def _skip_one(host: World) -> None:
    host.agent._sessions = 1
