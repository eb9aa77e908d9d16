"""The loop with real clients of the providers, against an endpoint that speaks their languages and fails as they do."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.app.porter_setup import read_setup
from portico.porter.setup import SetupReader
from portico.rpc.messages import RpcError
from tests.porter.client import connected
from tests.support.model_endpoint import BAD_KEY, TOO_LONG, Answer, Call, ModelEndpoint, Refuse, Say

MODELS = ("anthropic:claude-sonnet-5-5", "openai-chat:gpt-5", "openai:gpt-5")


def setup(endpoint: ModelEndpoint, home: Path, model: str = MODELS[0], **more: str) -> SetupReader:
    environ = {
        "PATH": "/usr/bin:/bin",
        "PORTICO_HOME": str(home),
        "PORTICO_MODEL": model,
        "ANTHROPIC_API_KEY": "a-key",
        "ANTHROPIC_BASE_URL": endpoint.address,
        "OPENAI_API_KEY": "a-key",
        "OPENAI_BASE_URL": f"{endpoint.address}/v1",
        **more,
    }
    return lambda workspace: read_setup(workspace, environ)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def contains(body: object, text: str) -> bool:
    return text in repr(body)


@pytest.mark.parametrize("model", MODELS)
async def test_a_file_is_changed_by_a_model_on_the_wire(
    state: Path, folder: Path, home: Path, model: str
) -> None:
    (folder / "a.py").write_text("print('helo')\n")
    edit = '{"path": "a.py", "edits": [{"old": "helo", "new": "hello"}]}'
    script = (
        Answer(Say("I look."), Call("read", '{"path": "a.py"}', "c1"), Call("list", "{}", "c2")),
        Answer(Call("edit", edit, "c3")),
        Answer(Say("Fixed the typo.")),
    )
    async with ModelEndpoint(*script) as endpoint:
        async with connected(state, setup_of=setup(endpoint, home, model)) as client:
            session = await client.open(folder)
            assert await client.prompt(session, "fix the typo") == "end_turn"
            assert client.text == "I look.\n\nFixed the typo."
            assert [call.title for call in client.calls] == ["Read a.py", "List .", "Change a.py"]
            assert len(client.questions) == 1
        assert contains(endpoint.requests[1].body, "print('helo')")
        assert contains(endpoint.requests[2].body, "Changed a.py in 1 place.")
    assert (folder / "a.py").read_text() == "print('hello')\n"


@pytest.mark.parametrize("model", MODELS)
async def test_arguments_that_are_no_json_are_told_to_the_model(
    state: Path, folder: Path, home: Path, model: str
) -> None:
    script = (Answer(Call("read", '{"path": "a.p', "c1")), Answer(Say("I see.")))
    async with ModelEndpoint(*script) as endpoint:
        async with connected(state, setup_of=setup(endpoint, home, model)) as client:
            session = await client.open(folder)
            assert await client.prompt(session, "go") == "end_turn"
        assert contains(endpoint.requests[1].body, "The arguments are not valid JSON")


async def test_a_busy_provider_is_tried_again_and_the_person_is_told(
    state: Path, folder: Path, home: Path
) -> None:
    soon = Refuse(429, "Too many requests", type="rate_limit_error", headers={"retry-after": "0"})
    async with (
        ModelEndpoint(soon, Answer(Say("Here I am."))) as endpoint,
        connected(state, setup_of=setup(endpoint, home)) as client,
    ):
        session = await client.open(folder)
        assert await client.prompt(session, "go") == "end_turn"
        assert client.text == "Here I am."
        [notice] = client.updates(schema.Notice)
        assert "limits the rate of requests" in notice.title
        assert notice.description.startswith("Trying again in 0 s")


async def test_a_key_that_is_refused_asks_to_sign_in_and_the_session_goes_on(
    state: Path, folder: Path, home: Path
) -> None:
    async with (
        ModelEndpoint(BAD_KEY, Answer(Say("Back."))) as endpoint,
        connected(state, setup_of=setup(endpoint, home)) as client,
    ):
        session = await client.open(folder)
        with pytest.raises(RpcError) as caught:
            await client.prompt(session, "go")
        assert caught.value.code == -32000
        assert await client.prompt(session, "again") == "end_turn"
        assert client.text == "Back."


async def test_a_stream_that_breaks_in_the_middle_of_a_call_leaves_a_session_that_goes_on(
    state: Path, folder: Path, home: Path
) -> None:
    broken = Answer(
        Say("I write it"), Call("write", '{"path": "a.txt", "content": "x"}', "c1"), breaks_after=7
    )
    async with (
        ModelEndpoint(broken, Answer(Say("Once more."))) as endpoint,
        connected(state, setup_of=setup(endpoint, home)) as client,
    ):
        session = await client.open(folder)
        with pytest.raises(RpcError):
            await client.prompt(session, "go")
        assert client.calls == []
        assert client.text.startswith("I")
        assert await client.prompt(session, "go on") == "end_turn"
        assert client.text.endswith("Once more.")
    assert not (folder / "a.txt").exists()


async def test_a_conversation_that_is_too_long_is_condensed_and_sent_again(
    state: Path, folder: Path, home: Path
) -> None:
    script = (Answer(Say("One.")), TOO_LONG, Answer(Say("SUMMARY")), Answer(Say("Two.")))
    async with ModelEndpoint(*script) as endpoint:
        async with connected(state, setup_of=setup(endpoint, home)) as client:
            session = await client.open(folder)
            await client.prompt(session, "one")
            assert await client.prompt(session, "two") == "end_turn"
            assert client.text.endswith("Two.")
        assert contains(endpoint.requests[3].body, "SUMMARY")


async def test_a_budget_ends_the_turn_and_the_next_one_is_refused(
    state: Path, folder: Path, home: Path
) -> None:
    script = (Answer(Call("list", "{}", "c1")), Answer(Say("Never.")))
    async with ModelEndpoint(*script) as endpoint:
        given = setup(endpoint, home, PORTICO_BUDGET_SESSION="100")
        async with connected(state, setup_of=given) as client:
            session = await client.open(folder)
            with pytest.raises(RpcError, match="The budget for this session is used up") as caught:
                await client.prompt(session, "go")
            assert b"BUDGET_EXCEEDED" in bytes(caught.value.data)
            assert any("of the budget for this session" in one.title for one in client.updates(schema.Notice))
        async with connected(state, setup_of=given) as client:
            await client.end.resume_session(schema.ResumeSessionRequest(session_id=session, cwd=str(folder)))
            with pytest.raises(RpcError, match="used up"):
                await client.prompt(session, "go on")
        assert len(endpoint.requests) == 1
