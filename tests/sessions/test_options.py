"""Options of an agent: names, refused values, and what survives the loss of an agent."""

from pathlib import Path

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.domain.errors import AgentReported, ErrorCode, InvalidInput
from portico.domain.events import ConfigUpdated, ErrorReported, Event, Notice, TextDelta
from portico.rpc.messages import RpcError
from portico.sessions.service import SessionService
from tests.sessions.support import SPEC, FakeAgent, World, world

MODEL = acp.SessionConfigSelect(
    id="llm",
    name="Model",
    category="model",
    current_value="small",
    options=[
        acp.SessionConfigSelectEntry(value="small", name="Small one"),
        acp.SessionConfigSelectEntry(value="big", name="Big one"),
    ],
)
WEB = acp.SessionConfigBoolean(id="web", name="Web search", current_value=False)
MODES = acp.SessionModeState(
    current_mode_id="ask",
    available_modes=[acp.SessionMode(id="ask", name="Ask"), acp.SessionMode(id="code", name="Code")],
)
RESUMES = acp.AgentCapabilities(
    session_capabilities=acp.SessionCapabilities(resume=acp.SessionResumeCapabilities())
)


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


def config(events: list[Event]) -> ConfigUpdated:
    """Last entry of the log."""
    return [event.payload for event in events if isinstance(event.payload, ConfigUpdated)][-1]


def values(events: list[Event]) -> dict[str, str | bool]:
    return {option.option_id: option.value for option in config(events).options}


def settings(agent: FakeAgent) -> list[str]:
    return [method for method in agent.methods if method.startswith("set ")]


async def ready(host: World) -> None:
    host.agent.config_options, host.agent.modes = [MODEL, WEB], MODES
    await host.start()


async def set_option(host: World, name: str, value: str | bool) -> None:
    await host._ticking(host.service.session(host.session_id).set_option(name, value))


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("llm", "big", "set llm=big"),
        ("model", "Big One", "set llm=big"),
        ("Model", "BIG", "set llm=big"),
        ("web", "on", "set web=True"),
        ("Web search", True, "set web=True"),
        ("mode", "code", "set mode code"),
        ("mode", "Code", "set mode code"),
    ],
)
async def test_an_option_goes_by_id_category_or_name_and_its_value_likewise(
    tmp_path: Path, name: str, value: str | bool, sent: str
) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        await set_option(host, name, value)
        assert settings(host.agent) == [sent]


async def test_the_log_has_the_new_value_and_that_a_person_chose_it(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        await set_option(host, "mode", "code")
        await set_option(host, "web", "yes")
        events = await host.events()
    assert values(events) == {"llm": "small", "web": True, "mode": "code"}
    assert config(events).chosen == ("mode", "web")


async def test_what_is_set_already_is_not_set_again(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        await set_option(host, "model", "small")
        assert settings(host.agent) == []
        assert config(await host.events()).chosen == ("llm",)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("colour", "red", "has no option colour"),
        ("model", "huge", "Unknown llm 'huge'. Available: small, big."),
        ("mode", "sleep", "Unknown mode 'sleep'. Available: ask, code."),
        ("web", "perhaps", "web is on or off, not 'perhaps'."),
    ],
)
async def test_what_there_is_not_is_answered_with_what_there_is(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        with pytest.raises(InvalidInput) as caught:
            await set_option(host, name, value)
        assert words in caught.value.message
        if name == "colour":
            assert caught.value.suggestion == "Available: llm (small, big); web (on, off); mode (ask, code)."
        assert settings(host.agent) == []


async def test_two_options_of_one_category_are_told_apart_by_id(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        twin = msgspec.structs.replace(MODEL, id="llm2", name="Second model")
        host.agent.config_options = [MODEL, twin]
        await host.start()
        with pytest.raises(InvalidInput, match="several options called model: llm, llm2"):
            await set_option(host, "model", "big")
        await set_option(host, "llm2", "big")
        assert settings(host.agent) == ["set llm2=big"]


async def test_a_mode_that_is_an_option_is_set_as_one(tmp_path: Path) -> None:
    mode = acp.SessionConfigSelect(
        id="mode",
        name="Mode",
        category="mode",
        current_value="ask",
        options=[acp.SessionConfigSelectEntry(value=name, name=name) for name in ("ask", "code")],
    )
    async with world(echo, tmp_path) as host:
        host.agent.config_options, host.agent.modes = [mode], MODES
        await host.start()
        await set_option(host, "mode", "code")
        assert settings(host.agent) == ["set mode=code"]


async def test_options_of_a_prompt_are_set_before_it(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        await host.prompt(options={"model": "big", "mode": "code"})
        assert host.agent.methods[-3:] == ["set llm=big", "set mode code", "session/prompt"]
        turn = await host.prompt(options={"colour": "red"})
    error = next(event.payload for event in turn if isinstance(event.payload, ErrorReported))
    assert error.code is ErrorCode.INVALID_INPUT
    assert not any(isinstance(event.payload, TextDelta) for event in turn)


async def test_an_agent_that_refuses_says_why(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await ready(host)
        host.agent.refuses_options = RpcError(-32603, "not in this plan")
        with pytest.raises(AgentReported, match="not in this plan"):
            await set_option(host, "model", "big")
        assert values(await host.events())["llm"] == "small"


async def test_a_mode_that_the_agent_changes_by_itself_is_noted(tmp_path: Path) -> None:
    async def switch(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(acp.CurrentModeUpdate(current_mode_id="code"))
        agent.update(acp.ConfigOptionUpdate(config_options=[MODEL]))

    async with world(switch, tmp_path) as host:
        await ready(host)
        await host.prompt()
        events = await host.events()
    assert values(events) == {"llm": "small", "mode": "code"}
    assert config(events).chosen == ()


class TestSurviving:
    @pytest.mark.parametrize("capabilities", [None, RESUMES], ids=["told again", "resumed"])
    async def test_a_crash_of_the_agent(
        self, tmp_path: Path, capabilities: acp.AgentCapabilities | None
    ) -> None:
        async with world(echo, tmp_path, capabilities=capabilities) as host:
            await ready(host)
            await host.prompt(options={"model": "big"})
            await set_option(host, "mode", "code")
            host.agent.methods.clear()
            await host.lose_agent()
            await host.prompt()
            assert settings(host.agent) == ["set llm=big", "set mode code"]
            assert host.agent.methods[-1] == "session/prompt"
            assert values(await host.events()) == {"llm": "big", "web": False, "mode": "code"}

    async def test_a_reopen_in_another_process(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await ready(host)
            await host.prompt(options={"model": "big"})
            await host.service.close()
            host.agent.methods.clear()
            host.service = SessionService(host.ports)
            await host.service.reopen(host.session_id, SPEC)
            await host.prompt()
            assert settings(host.agent) == ["set llm=big"]
            assert config(await host.events()).chosen == ("llm",)

    async def test_what_the_agent_keeps_by_itself_is_not_sent(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path, capabilities=RESUMES) as host:
            await ready(host)
            await host.prompt(options={"model": "big"})
            host.agent.methods.clear()
            host.agent.resumed_as = acp.ResumeSessionResponse(
                config_options=[msgspec.structs.replace(MODEL, current_value="big")]
            )
            await host.lose_agent()
            await host.prompt()
            assert settings(host.agent) == []

    async def test_a_value_that_the_agent_changed_since_is_not_turned_back(self, tmp_path: Path) -> None:
        async def back_to_ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            agent.update(acp.CurrentModeUpdate(current_mode_id="ask"))

        async with world(back_to_ask, tmp_path) as host:
            await ready(host)
            await host.prompt(options={"mode": "code"})
            host.agent.methods.clear()
            await host.lose_agent()
            await host.prompt()
            assert settings(host.agent) == []

    async def test_what_the_agent_refuses_to_take_again_is_told(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await ready(host)
            await host.prompt(options={"model": "big", "web": "on"})
            await host.lose_agent()
            host.agent.config_options = [MODEL]
            host.agent.refuses_options = RpcError(-32603, "not in this plan")
            turn = await host.prompt()
        notices = [event.payload.text for event in turn if isinstance(event.payload, Notice)]
        assert "The agent did not accept llm = big again: not in this plan" in notices
        assert "The agent did not accept web = on again: The agent fake has no option web." in notices
        assert any(isinstance(event.payload, TextDelta) for event in turn)
