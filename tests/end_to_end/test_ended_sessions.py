"""An agent that goes on in a session that was ended, or never opened: what it says, and what it asks for."""

import json
import os
from pathlib import Path

import pytest

from portico.app.host import Host, open_host
from portico.chains.options import ChainOptions
from portico.domain.events import Event, Notice, PermissionRequested, PermissionResolved, TextDelta
from portico.domain.ids import SessionId
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt
from portico.testing import Script, read_transcript, scripted_agent_command
from tests.support.editor import Editor, said
from tests.support.program import Portico, agent_command
from tests.support.stream import Json

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
DENIED = {"result": {"outcome": {"outcome": "selected", "optionId": "no"}}}
EVERYTHING: dict[str, Json] = {
    "nothing": {},
    "an allowance": {"permissions": {"allow": ["all"]}},
}


def asking_in(session_id: str) -> Json:
    call = {"toolCallId": "c1", "title": "Delete it", "kind": "delete"}
    params = {"sessionId": session_id, "toolCall": call, "options": OPTIONS}
    return {"request": {"method": "session/request_permission", "params": params}}


def speaking_in(session_id: str, text: str) -> Json:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"notify": {"method": "session/update", "params": {"sessionId": session_id, "update": chunk}}}


class TestInAnEditor:
    @pytest.mark.parametrize("ending", ["session/close", "session/delete"])
    @pytest.mark.parametrize("settings", EVERYTHING.values(), ids=EVERYTHING)
    def test_an_ended_session_gets_no_permission_and_nobody_is_asked(
        self, portico: Portico, ending: str, settings: Json
    ) -> None:
        portico.settings(settings)
        editor = Editor(portico, "--agent-command", portico.agent)
        ended, other = editor.open_session(), editor.open_session()
        assert "result" in editor.call(ending, {"sessionId": ended})
        editor.answer_to(editor.prompt(other, json.dumps([asking_in(ended)])))
        assert json.loads(said(editor.heard)) == DENIED
        assert not any(message.get("method") == "session/request_permission" for message in editor.heard)
        editor.hang_up()

    def test_a_bypass_is_no_permission_for_an_ended_session(self, portico: Portico) -> None:
        command, *args = scripted_agent_command()
        portico.settings({"agents": {"mine": {"command": command, "args": args, "bypassPermissions": True}}})
        editor = Editor(portico, "--agent", "mine")
        ended, other = editor.open_session(), editor.open_session()
        editor.call("session/close", {"sessionId": ended})
        editor.answer_to(editor.prompt(other, json.dumps([asking_in(other), asking_in(ended)])))
        assert said(editor.heard) == (
            '{"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}'
            '{"result":{"outcome":{"outcome":"selected","optionId":"no"}}}'
        )
        editor.hang_up()

    def test_a_session_that_is_opened_again_is_asked_about_again(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", portico.agent)
        session_id = editor.open_session()
        editor.call("session/close", {"sessionId": session_id})
        params = {"sessionId": session_id, "cwd": str(portico.workspace), "mcpServers": []}
        assert "result" in editor.call("session/resume", params)
        prompt = editor.prompt(session_id, json.dumps([asking_in(session_id)]))
        while (question := editor.receive()).get("method") != "session/request_permission":
            pass
        editor.send({"jsonrpc": "2.0", "id": question["id"], "result": DENIED["result"]})
        editor.answer_to(prompt)
        editor.hang_up()

    def test_a_question_that_is_open_at_the_end_is_taken_back_and_a_late_yes_is_not_heard(
        self, portico: Portico, tmp_path: Path
    ) -> None:
        transcript = tmp_path / "transcript"
        editor = Editor(portico, "--agent-command", agent_command(transcript=transcript))
        session_id = editor.open_session()
        prompt = editor.prompt(session_id, json.dumps([{"permission": {"options": OPTIONS}}]))
        while (question := editor.receive()).get("method") != "session/request_permission":
            pass
        assert "result" in editor.call("session/close", {"sessionId": session_id})
        withdrawn = [one["params"] for one in editor.heard if one.get("method") == "$/cancel_request"]
        assert withdrawn == [{"requestId": question["id"]}]
        yes = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        editor.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
        assert editor.answer_to(prompt)["result"] == {"stopReason": "cancelled"}
        editor.open_session()
        editor.hang_up()
        assert [one for one in received(transcript) if "outcome" in (one.get("result") or {})] == [
            {"jsonrpc": "2.0", "id": 1, **DENIED}
        ]

    def test_what_is_said_in_a_session_nobody_has_open_is_the_editors_to_judge(
        self, portico: Portico
    ) -> None:
        editor = Editor(portico, "--agent-command", portico.agent)
        ended, other = editor.open_session(), editor.open_session()
        editor.call("session/close", {"sessionId": ended})
        steps = [speaking_in(ended, "late"), speaking_in("nobody", "lost"), {"say": "here"}]
        assert "result" in editor.answer_to(editor.prompt(other, json.dumps(steps)))
        heard = {session_id: said(editor.heard, session_id) for session_id in (ended, "nobody", other)}
        assert heard == {ended: "late", "nobody": "lost", other: "here"}
        editor.hang_up()


class TestInAHost:
    """Two sessions share an agent, and one of them is deleted."""

    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name != "PORTICO_TAP"}

    @pytest.mark.parametrize("capabilities", [None, {}], ids=["can close", "cannot close"])
    async def test_an_ended_session_gets_no_permission_whatever_the_rules_say(
        self, environ: dict[str, str], tmp_path: Path, capabilities: Json | None
    ) -> None:
        async with open_host(environ, ChainOptions(allow=("all",))) as host:
            ended, other = await two_sessions(host, tmp_path, capabilities)
            events = await after_deleting(host, ended, other, asking_in("scripted-1"))
        (answer,) = [event.payload.text for event in events if isinstance(event.payload, TextDelta)]
        assert json.loads(answer) == DENIED
        assert not any(isinstance(event.payload, PermissionRequested) for event in events)

    async def test_another_session_keeps_its_rules(self, environ: dict[str, str], tmp_path: Path) -> None:
        async with open_host(environ, ChainOptions(allow=("all",))) as host:
            ended, other = await two_sessions(host, tmp_path)
            events = await after_deleting(host, ended, other, asking_in("scripted-2"))
        (resolved,) = [one.payload for one in events if isinstance(one.payload, PermissionResolved)]
        assert (resolved.outcome, resolved.by, resolved.rule) == ("allowed", "policy", "all")

    async def test_what_is_said_in_an_ended_session_is_told_as_out_of_place(
        self, environ: dict[str, str], tmp_path: Path
    ) -> None:
        async with open_host(environ) as host:
            ended, other = await two_sessions(host, tmp_path)
            events = await after_deleting(host, ended, other, speaking_in("scripted-1", "late"))
        (notice,) = [event.payload for event in events if isinstance(event.payload, Notice)]
        assert "scripted-1" in notice.text
        assert "not open" in notice.text


async def two_sessions(
    host: Host, workspace: Path, capabilities: Json | None = None
) -> tuple[SessionId, SessionId]:
    """Two sessions of one process, known to it as `scripted-1` and `scripted-2`."""
    script: Script = {} if capabilities is None else {"capabilities": capabilities}
    spec = AgentSpec(name="scripted", command=scripted_agent_command(script))
    first, second = [await host.service.start(workspace, spec) for _ in range(2)]
    for session_id in (first, second):
        await host.service.session(session_id).prompt(TurnPrompt(text="hello"))
    return first, second


async def after_deleting(host: Host, ended: SessionId, other: SessionId, step: Json) -> list[Event]:
    """Delete a session and let its agent do something; the events of the other one since then."""
    await host.service.delete(ended)
    before = (await host.service.show(other)).last_seq
    await host.service.session(other).prompt(TurnPrompt(text=json.dumps([step])))
    return await host.store.read(other, after_seq=before, limit=1000)


def received(transcript: Path) -> list[Json]:
    return [line.message for line in read_transcript(transcript) if line.direction == "received"]
