"""Tools that run commands: to the end, in the background, and never longer than the session."""

import os
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.models.model import ModelToolResult
from tests.porter.client import Client, allow_for_session, connected, lives, reject
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in
from tests.porter.tools.conftest import Use


def text(result: ModelToolResult) -> str:
    return "".join(part.text for part in result.parts)  # type: ignore[union-attr]


@pytest.mark.parametrize("terminals", [True, False])
async def test_a_command_tells_what_it_printed_and_how_it_ended(use: Use, terminals: bool) -> None:
    def look(client: Client) -> None:
        [question] = client.questions
        assert question.tool_call.title == "echo hello; exit 3"
        assert client.statuses(client.calls[0])[-1] == "failed"

    result = await use("run", command="echo hello; exit 3", with_client={"terminals": terminals}, after=look)
    assert result.failed
    assert text(result) == "hello\n\nEnded with exit code 3."


@pytest.mark.parametrize("terminals", [True, False])
async def test_a_command_that_takes_too_long_is_stopped_and_its_output_kept(
    use: Use, terminals: bool
) -> None:
    result = await use(
        "run", command="echo begun; sleep 1000", seconds=1, with_client={"terminals": terminals}
    )
    assert result.failed
    assert text(result) == "begun\n\nStopped after 1 s."


async def test_a_declined_command_is_not_run(use: Use, folder: Path) -> None:
    def decline(client: Client) -> None:
        client.answer = reject

    result = await use("run", command="touch made", before=decline)
    assert "The user declined" in text(result)
    assert not (folder / "made").exists()


async def test_allowing_a_command_for_the_session_allows_that_line_only(state: Path, folder: Path) -> None:
    steps = [
        calls(call("run", command="echo 1"), call("run", command="echo 1"), call("run", command="echo 2")),
        Say("Done."),
    ]
    model = ScriptedModel(steps)
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = allow_for_session
        session = await client.open(folder)
        await client.prompt(session, "go")
        assert [question.tool_call.title for question in client.questions] == ["echo 1", "echo 2"]


async def test_allowing_a_command_once_asks_again_the_next_time(state: Path, folder: Path) -> None:
    same = calls(call("run", command="echo 1"), call("run", command="echo 1"))
    model = ScriptedModel([same, Say("Done.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "go")
        assert len(client.questions) == 2


@pytest.mark.parametrize("terminals", [True, False])
async def test_a_command_in_the_background_is_looked_at_and_stopped(
    state: Path, folder: Path, terminals: bool
) -> None:
    os.mkfifo(folder / "gate")
    steps = [
        calls(call("run", command="echo $$; echo up; cat gate; sleep 1000", background=True)),
        calls(call("command_output", name="command-1", wait_seconds=10)),
        calls(call("stop_command", name="command-1")),
        calls(call("command_output", name="command-1")),
        Say("Done."),
    ]
    model = ScriptedModel(steps)
    async with connected(state, setup_of=model.setup(), terminals=terminals) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "serve it") == "end_turn"
    assert "It runs in the background as command-1." in results_in(model.requests[1])[0]
    looked = results_in(model.requests[2])[0]
    assert "It is still running." in looked
    [stopped] = results_in(model.requests[3])
    assert stopped.endswith("It was stopped.")
    assert not lives(int(stopped.split()[0]))
    assert "No command 'command-1' runs" in results_in(model.requests[4])[0]


@pytest.mark.parametrize("terminals", [True, False])
async def test_a_command_in_the_background_ends_with_the_session(
    state: Path, folder: Path, terminals: bool
) -> None:
    steps = [
        calls(call("run", command="echo $$ > pid; sleep 1000", background=True)),
        calls(call("run", command="while [ ! -s pid ]; do :; done; cat pid")),
        Say("Done."),
    ]
    model = ScriptedModel(steps)
    async with connected(state, setup_of=model.setup(), terminals=terminals) as client:
        session = await client.open(folder)
        await client.prompt(session, "serve it")
        process = int((folder / "pid").read_text())
        assert lives(process)
        await client.end.close_session(schema.CloseSessionRequest(session_id=session))
        assert not lives(process)


async def test_todos_are_a_list_that_the_person_sees_and_shares(state: Path, folder: Path) -> None:
    todos = [
        {"text": "read", "status": "completed"},
        {"text": "change", "status": "in_progress"},
        {"text": "test"},
    ]
    model = ScriptedModel(
        [calls(call("todo_write", todos=todos)), Say("Planned."), calls(call("todo_read")), Say("")]
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "plan it")
        plan = client.updates(schema.Plan)[-1]
        assert [(entry.content, entry.status) for entry in plan.entries] == [
            ("read", "completed"),
            ("change", "in_progress"),
            ("test", "pending"),
        ]
        await client.prompt(session, "/todo done 3")
        await client.prompt(session, "what is left?")
    assert results_in(model.requests[3]) == [
        "1. [completed] read\n2. [in_progress] change\n3. [completed] test"
    ]


async def test_the_person_is_asked_a_question_and_answers(use: Use) -> None:
    def prepare(client: Client) -> None:
        client.reply = {"answer": "tabs"}

    def look(client: Client) -> None:
        [asked] = client.elicited
        assert asked.message == "Tabs or spaces?"
        assert asked.requested_schema is not None
        field = asked.requested_schema.properties["answer"]
        assert [choice.const for choice in field.one_of or []] == ["tabs", "spaces"]

    choices = [{"label": "tabs", "description": "wide"}, {"label": "spaces"}]
    result = await use(
        "ask",
        question="Tabs or spaces?",
        choices=choices,
        with_client={"elicitation": True},
        before=prepare,
        after=look,
    )
    assert text(result) == "The user answered: tabs"


@pytest.mark.parametrize("elicitation", [True, False])
async def test_a_question_that_nobody_answers_is_told_to_the_model(use: Use, elicitation: bool) -> None:
    result = await use("ask", question="Well?", with_client={"elicitation": elicitation})
    assert result.failed
    assert "The user did not answer" in text(result)
