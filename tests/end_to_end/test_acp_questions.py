"""Questions of an agent to the person at an ACP editor pass through `portico acp` and back, unchanged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from portico.testing import read_transcript
from tests.support.editor import Editor, proxy_settings, said
from tests.support.program import Portico, agent_command
from tests.support.stream import Json

OFFERED: Json = {"elicitation": {"form": {}, "url": {}}, "auth": {"terminal": True}}
PORT: Json = {"type": "integer", "title": "Port", "minimum": 1}
QUESTION: Json = {"message": "Where shall it listen?", "fields": {"port": PORT}, "required": ["port"]}
WEB: Json = {"id": "web", "name": "the web page"}

Start = Callable[..., Editor]


@pytest.fixture
def transcript(portico: Portico) -> Path:
    return portico.home / "transcript"


@pytest.fixture(params=[(), ("--proxy", "node")], ids=["proxies inside", "a program too"])
def start(portico: Portico, transcript: Path, request: pytest.FixtureRequest) -> Start:
    return starter(portico, transcript, *request.param)


@pytest.fixture
def start_inside(portico: Portico, transcript: Path) -> Start:
    return starter(portico, transcript)


def starter(portico: Portico, transcript: Path, *flags: str) -> Start:
    portico.settings(proxy_settings(node=()))

    def start(script: Json | None = None) -> Editor:
        command = agent_command(script or {}, transcript=transcript)
        editor = Editor(portico, "--agent-command", command, *flags)
        hello = editor.call("initialize", {"protocolVersion": 1, "clientCapabilities": OFFERED})
        assert "result" in hello
        return editor

    return start


def question(editor: Editor) -> Json:
    while (message := editor.receive()).get("method") != "elicitation/create":
        pass
    return message


def reply(editor: Editor, asked: Json, result: Json) -> None:
    editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def test_the_agent_learns_what_the_editor_can_ask(start: Start, transcript: Path) -> None:
    editor = start()
    assert editor.hang_up().code == 0
    (hello,) = [
        line.message for line in read_transcript(transcript) if line.message.get("method") == "initialize"
    ]
    offered = hello["params"]["clientCapabilities"]
    assert (offered["elicitation"], offered["auth"]) == (OFFERED["elicitation"], OFFERED["auth"])


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"action": "accept", "content": {"port": 80}}, 'elicitation accept {"port":80}'),
        ({"action": "decline"}, "elicitation decline {}"),
    ],
)
def test_a_form_and_its_answer(start: Start, result: Json, words: str) -> None:
    editor = start({"on_prompt": [[{"elicit": QUESTION}]]})
    session = editor.open_session()
    turn = editor.prompt(session, "go")
    asked = question(editor)
    assert asked["params"] == {
        "sessionId": session,
        "message": "Where shall it listen?",
        "mode": "form",
        "requestedSchema": {"type": "object", "properties": {"port": PORT}, "required": ["port"]},
    }
    reply(editor, asked, result)
    assert editor.answer_to(turn)["result"]["stopReason"] == "end_turn"
    assert said(editor.heard).startswith(words)
    assert editor.hang_up().code == 0


def test_a_page_and_that_it_is_done(start: Start) -> None:
    done = {"notify": {"method": "elicitation/complete", "params": {"elicitationId": "p1"}}}
    page = {"elicit": {"message": "Agree", "url": "https://example.org/", "id": "p1"}}
    editor = start({"on_prompt": [[page, done]]})
    turn = editor.prompt(editor.open_session(), "go")
    asked = question(editor)
    assert (asked["params"]["url"], asked["params"]["elicitationId"]) == ("https://example.org/", "p1")
    reply(editor, asked, {"action": "accept"})
    editor.answer_to(turn)
    told = [message["params"] for message in editor.heard if message.get("method") == "elicitation/complete"]
    assert told == [{"elicitationId": "p1"}]
    assert editor.hang_up().code == 0


def test_a_question_while_signing_in_is_about_the_editors_own_request(start_inside: Start) -> None:
    editor = start_inside(
        {"auth_required": True, "auth_methods": [WEB], "on_authenticate": [{"elicit": QUESTION}]}
    )
    signing_in = editor.request("authenticate", {"methodId": "web"})
    asked = question(editor)
    assert asked["params"]["requestId"] == signing_in
    reply(editor, asked, {"action": "accept", "content": {"port": 80}})
    assert "result" in editor.answer_to(signing_in)
    assert editor.open_session()
    assert "result" in editor.call("logout", {})
    refused = editor.call("session/new", {"cwd": "/", "mcpServers": []})
    assert refused["error"]["code"] == -32000
    assert editor.hang_up().code == 0
