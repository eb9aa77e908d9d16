"""The offline model answers free text at every door, without a key or a network."""

import json
import sys
from collections.abc import Iterator

import pytest

from tests.support.editor import Editor, said
from tests.support.offline import have_offline_model
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach
from tests.support.stream import Json
from tests.support.terminal import Terminal

SAY_HELLO = "Say hello."
TINY = "tiny model on this machine"
PATIENCE = 100.0
BRIEF = """\
name: CODE
description: Answers in a few words
mode: read
tools: [read]
limits: { output_tokens: 16 }
instructions: You answer in a few words.
"""


@pytest.fixture(autouse=True)
def offline(portico: Portico, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is there, answers are short, and a busy machine has time to load it."""
    have_offline_model(portico.environ())
    folder = portico.workspace / ".portico" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "code.yaml").write_text(BRIEF)
    monkeypatch.setattr("tests.support.editor.DEADLINE", PATIENCE)
    monkeypatch.setattr("tests.support.serving.PATIENCE", PATIENCE)


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


def test_it_answers_a_command(portico: Portico) -> None:
    ran = portico.run("exec", "--json-stream", SAY_HELLO, seconds=PATIENCE)
    assert ran.code == 0
    assert ran.stream.answer.strip()
    assert any(TINY in notice for notice in ran.stream.notices)
    assert ran.stream.only("done")["state"] == "completed"


def test_it_answers_an_editor_that_speaks_acp(portico: Portico) -> None:
    editor = Editor(portico)
    session_id = editor.open_session()
    answer = editor.answer_to(editor.prompt(session_id, SAY_HELLO))
    assert answer["result"]["stopReason"] in ("end_turn", "max_tokens")
    assert said(editor.heard, session_id).strip()
    assert editor.hang_up().code == 0


def test_it_answers_a_script_over_the_service(portico: Portico, server: Server) -> None:
    begun = server.ask("StartSession", {"workspace": str(portico.workspace)})
    session_id = begun["session"]["summary"]["sessionId"]
    turn = server.stream("Invoke", {"sessionId": session_id, "text": SAY_HELLO})
    heard: list[Json] = []
    while (message := turn.next()) is not None:
        heard.append(message)
    events = [one["event"] for one in heard if "event" in one]
    words = "".join(one["textDelta"]["text"] for one in events if "textDelta" in one)
    assert words.strip(), heard
    assert TINY in json.dumps(heard)
    found = server.ask("GetSession", {"sessionId": session_id})
    assert found["session"]["summary"]["state"] == "TURN_STATE_COMPLETED"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_it_answers_a_person_at_a_terminal(portico: Portico) -> None:
    environ = portico.environ({"TERM": "xterm-256color"})
    terminal = Terminal((PROGRAM, "chat"), cwd=portico.workspace, environ=environ)
    try:
        terminal.until("❯")
        terminal.press(f"{SAY_HELLO}\r")
        terminal.until("tiny model", seconds=PATIENCE)
        terminal.until("✓", seconds=PATIENCE)
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
    finally:
        terminal.close()
