"""Answers that come late or twice: from an agent that was told to stop, and from people at two doors."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from portico.app.host import Host, open_host
from portico.domain.errors import InvalidInput
from portico.domain.events import PermissionResolved, TurnEnded
from portico.domain.ids import SessionId
from portico.sessions.ports import AgentSpec
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.turn import TurnPrompt
from portico.testing import read_transcript, scripted_agent_command
from tests.support.editor import Editor, said
from tests.support.program import Portico
from tests.support.stream import Json

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
YES, NO = PermissionReply(option_id="yes", by="person"), PermissionReply(option_id="no", by="person")


class TestTheAgent:
    """Behind `portico acp`, whose editor takes its prompt back or stops the turn."""

    def test_a_prompt_that_is_taken_back_is_answered_once_and_the_session_goes_on(
        self, portico: Portico
    ) -> None:
        editor = Editor(portico, "--agent-command", portico.agent)
        session_id = editor.open_session()
        prompt = editor.prompt(session_id, "say begun\nhang")
        editor.until_said("begun")
        take_back(editor, prompt)
        assert editor.answer_to(prompt)["error"]["code"] == -32800
        assert "result" in editor.answer_to(editor.prompt(session_id, "say again"))
        assert answers(editor, prompt) == 1
        editor.hang_up()

    def test_an_agent_that_goes_on_all_the_same_is_heard_to_its_end(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", portico.agent)
        session_id, go = editor.open_session(), portico.workspace / "go"
        steps = [{"ignore": ["cancel"]}, {"say": "deaf "}, {"wait_file": str(go)}, {"say": "done"}]
        prompt = editor.prompt(session_id, json.dumps(steps))
        editor.until_said("deaf")
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})
        go.touch()
        assert editor.answer_to(prompt)["result"] == {"stopReason": "end_turn"}
        assert said(editor.heard) == "deaf done"
        editor.hang_up()

    def test_a_second_answer_that_comes_in_the_next_turn_reaches_nobody(self, portico: Portico) -> None:
        end = {"answer": {"result": {"stopReason": "end_turn"}}}
        editor = Editor(portico, "--agent-command", portico.agent)
        session_id, other = editor.open_session(), editor.open_session()
        first = editor.prompt(session_id, json.dumps([end, {"wait_file": "go"}, end, {"say": "twice"}]))
        assert "result" in editor.answer_to(first)
        second = editor.prompt(other, json.dumps([{"touch": "go"}, {"wait_file": "gone"}]))
        editor.until_said("twice")
        (portico.workspace / "gone").touch()
        assert editor.answer_to(second)["result"] == {"stopReason": "end_turn"}
        assert answers(editor, first) == 1
        editor.hang_up()


class TestAPerson:
    """At a host, with an agent that waits for an answer."""

    async def test_the_first_of_two_answers_counts(self, tmp_path: Path) -> None:
        async with asked(tmp_path) as (host, session_id, turn):
            host.service.session(session_id).decide("p1", NO)
            with pytest.raises(InvalidInput, match="p1"):
                host.service.session(session_id).decide("p1", YES)
            await turn
            with pytest.raises(InvalidInput, match="p1"):
                host.service.session(session_id).decide("p1", YES)
            assert await resolutions(host, session_id) == [("denied", "person")]
        assert heard_by_agent(tmp_path) == [{"outcome": "selected", "optionId": "no"}]

    async def test_an_answer_after_a_stop_is_refused(self, tmp_path: Path) -> None:
        async with asked(tmp_path) as (host, session_id, turn):
            host.service.session(session_id).stop()
            assert (await turn).stop_reason == "cancelled"
            with pytest.raises(InvalidInput, match="p1"):
                host.service.session(session_id).decide("p1", YES)
            assert await resolutions(host, session_id) == [("canceled", "nobody")]
        assert heard_by_agent(tmp_path) == [{"outcome": "cancelled"}]

    async def test_an_answer_to_what_was_asked_before_a_restart_settles_no_later_question(
        self, tmp_path: Path
    ) -> None:
        async with asked(tmp_path) as (_, session_id, turn):
            turn.cancel()
            await asyncio.wait((turn,))
        async with asked(tmp_path, session_id) as (host, _, turn):
            with pytest.raises(InvalidInput, match="p1"):
                host.service.session(session_id).decide("p1", YES)
            (question,) = (await host.service.view(session_id)).permissions
            host.service.session(session_id).decide(question.request_id, NO)
            await turn
            assert (await resolutions(host, session_id))[-1] == ("denied", "person")

    async def test_an_option_that_was_not_offered_leaves_the_question_open(self, tmp_path: Path) -> None:
        async with asked(tmp_path) as (host, session_id, turn):
            with pytest.raises(InvalidInput, match="it has yes, no"):
                host.service.session(session_id).decide("p1", PermissionReply(option_id="maybe", by="person"))
            host.service.session(session_id).decide("p1", YES)
            await turn
            assert await resolutions(host, session_id) == [("allowed", "person")]
        assert heard_by_agent(tmp_path) == [{"outcome": "selected", "optionId": "yes"}]


@asynccontextmanager
async def asked(
    folder: Path, session_id: SessionId | None = None
) -> AsyncIterator[tuple[Host, SessionId, "asyncio.Task[TurnEnded]"]]:
    """A host in the middle of a turn of a new session, with the question `p1` open, or of one that goes on."""
    environ = {name: value for name, value in os.environ.items() if name != "PORTICO_TAP"}
    command = scripted_agent_command(transcript=folder / "transcript")
    prompt = TurnPrompt(text=json.dumps([{"permission": {"options": OPTIONS}}]))
    async with open_host(environ) as host, asyncio.timeout(30):
        spec, begun = AgentSpec(name="scripted", command=command), 0
        if session_id is None:
            session_id = await host.service.start(folder, spec)
        else:
            begun = await host.service.reopen(session_id, spec)
        turn = asyncio.create_task(host.service.session(session_id).prompt(prompt))
        async for event in host.service.watch(session_id, after_seq=begun):
            if event.kind == "permission_requested":
                break
        yield host, session_id, turn


async def resolutions(host: Host, session_id: SessionId) -> list[tuple[str, str]]:
    events = await host.store.read(session_id, after_seq=0, limit=1000)
    found = [event.payload for event in events if isinstance(event.payload, PermissionResolved)]
    return [(one.outcome, one.by) for one in found]


def heard_by_agent(folder: Path) -> list[Json]:
    """The outcomes that the agent was told."""
    lines = [line.message for line in read_transcript(folder / "transcript") if line.direction == "received"]
    return [line["result"]["outcome"] for line in lines if "outcome" in (line.get("result") or {})]


def take_back(editor: Editor, request_id: int) -> None:
    params = {"requestId": request_id}
    editor.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params})


def answers(editor: Editor, request_id: int) -> int:
    return sum("method" not in message and message["id"] == request_id for message in editor.heard)
