"""Login to the agent of a session, by its own methods, in the same process."""

from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.acp.connection import AUTH_REQUIRED
from portico.domain.errors import AgentReported, InvalidInput
from portico.domain.events import ErrorReported, QuestionAsked, TextDelta
from portico.rpc.messages import RpcError
from portico.sessions.agent.login import AgentLogin
from portico.sessions.requests.questions import QuestionAnswer
from tests.sessions.asking import PORT, elicit, form
from tests.sessions.support import FakeAgent, World, kinds, world

WEB = acp.AuthMethod(id="web", name="the web page")
KEY = acp.AuthMethod(id="key", name="an API key", description="from your account")
TERMINAL = acp.AuthMethod(id="tty", name="its terminal", type="terminal", args=["login"], env={"A": "b"})
OUT = acp.AgentCapabilities(auth=acp.AgentAuthCapabilities(logout=acp.LogoutCapabilities()))


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


def locked(host: World, *methods: acp.AuthMethod) -> None:
    """Let the agent open no session before a sign-in."""
    keys: list[str] = []

    async def refuse() -> None:
        if not keys:
            raise RpcError(AUTH_REQUIRED, "who are you?")

    async def unlock(method_id: str) -> None:
        keys.append(method_id)

    host.agent.auth_methods = list(methods)
    host.agent.on_new, host.agent.on_authenticate = refuse, unlock


async def signing(host: World) -> AgentLogin:
    return await host._ticking(host.service.session(host.session_id).login())


async def test_after_signing_in_the_same_process_takes_the_prompt(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        locked(host, WEB)
        turn = await host.prompt()
        error = next(event.payload for event in turn if isinstance(event.payload, ErrorReported))
        assert (error.code, error.details.auth_methods) == ("AUTH_REQUIRED", ("the web page",))
        ways = await signing(host)
        await ways.authenticate(ways.method(None))
        turn = await host.prompt()
        assert any(isinstance(event.payload, TextDelta) for event in turn)
        assert len(host.agents.launched) == 1
        assert host.agent.methods == [
            "initialize",
            "session/new",
            "authenticate web",
            "session/new",
            "session/prompt",
        ]


async def test_of_several_methods_one_is_named(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        locked(host, WEB, KEY)
        await host.start()
        ways = await signing(host)
        with pytest.raises(
            InvalidInput, match=r"several login methods: web \(the web page\); key \(an API key\)"
        ):
            ways.method(None)
        with pytest.raises(InvalidInput, match="Unknown login method 'fingerprint'"):
            ways.method("fingerprint")
        assert ways.method("key").description == "from your account"


async def test_an_agent_without_methods_says_so(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.start()
        with pytest.raises(InvalidInput, match="has no login method"):
            (await signing(host)).method(None)


async def test_a_method_for_the_terminal_is_a_command_and_no_call(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        locked(host, TERMINAL)
        await host.start()
        ways = await signing(host)
        method = ways.method(None)
        assert (method.command, method.env) == (("fake", "login"), {"A": "b"})
        with pytest.raises(InvalidInput, match="run fake login"):
            await ways.authenticate(method)
        assert "authenticate tty" not in host.agent.methods


async def test_a_method_that_fails_says_why(tmp_path: Path) -> None:
    async def refuse(method_id: str) -> None:
        raise RpcError(-32603, "the page was closed")

    async with world(echo, tmp_path) as host:
        host.agent.auth_methods, host.agent.on_authenticate = [WEB], refuse
        await host.start()
        ways = await signing(host)
        with pytest.raises(AgentReported, match="the page was closed"):
            await ways.authenticate(ways.method(None))


async def test_what_the_agent_asks_meanwhile_is_answered_by_whoever_signs_in_and_not_logged(
    tmp_path: Path,
) -> None:
    got: list[str] = []
    asked: list[QuestionAsked] = []

    async def ask_back(method_id: str) -> None:
        about = form({"port": PORT}, session=None) | {"requestId": 2}
        got.append(await elicit(host.agent, about))

    async def person(question: QuestionAsked) -> QuestionAnswer:
        asked.append(question)
        return QuestionAnswer(action="accept", content={"port": 80})

    async with world(echo, tmp_path) as host:
        host.agent.auth_methods, host.agent.on_authenticate = [WEB], ask_back
        await host.start()
        ways = await signing(host)
        await ways.authenticate(ways.method(None), person)
        await ways.authenticate(ways.method(None))
        assert "question_asked" not in kinds(await host.events())
    assert [question.message for question in asked] == ["Where shall it listen?"]
    assert got == ['{"action":"accept","content":{"port":80}}', '{"action":"decline"}']


async def test_signing_out_is_for_agents_that_offer_it(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.start()
        with pytest.raises(InvalidInput, match="does not support logout"):
            await (await signing(host)).logout()
    async with world(echo, tmp_path, capabilities=OUT) as host:
        await host.start()
        await (await signing(host)).logout()
        assert host.agent.methods == ["initialize", "logout"]
