"""Everything a person mainly does, done through the service alone: no workflow needs a terminal.

One case for each workflow: start, stream, stop, resume, history, sign-in, configuration, errors and retry, context.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.testing import scripted_agent_command
from tests.support.program import Portico
from tests.support.serving import Server, detach
from tests.support.stream import Json
from tests.support.waiting import wait_until

VSCODE = Path(__file__).parents[2] / "vscode"
LOCKED = {
    "auth_required": True,
    "auth_methods": [{"id": "browser", "name": "Sign in with a browser"}],
    "on_prompt": [[{"say": "Welcome in."}]],
}


class Person:
    """A person who has nothing but the service."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def start(self, agent: str = "scripted") -> str:
        detail = self.server.ask("StartSession", {"agent": agent})
        return str(detail["session"]["summary"]["sessionId"])

    def prompt(self, session_id: str, *steps: Json, **more: object) -> list[Json]:
        """The events of a whole turn, as they are streamed."""
        stream = self.server.stream("Invoke", {"sessionId": session_id, "text": json.dumps(steps), **more})
        events: list[Json] = []
        while (message := stream.next()) is not None:
            events.append(message["event"])
        return events

    def state(self, session_id: str) -> str:
        shown = self.server.ask("GetSession", {"sessionId": session_id})
        return str(shown["session"]["summary"]["state"]).removeprefix("TURN_STATE_")

    def timeline(self, session_id: str) -> list[Json]:
        page = self.server.ask("GetTimeline", {"sessionId": session_id, "limit": 100})
        found: list[Json] = page["events"]
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("person")
    (home / "work").mkdir()
    portico = Portico(home, home / "work")
    agents = {
        name: scripted_agent_command(script, state=home / name)
        for name, script in (("scripted", None), ("locked", LOCKED))
    }
    portico.settings(
        {"agents": {name: {"command": words[0], "args": words[1:]} for name, words in agents.items()}}
    )
    found = Server(portico)
    environ = {"HOME": str(home), "PORTICO_HOME": str(home / "portico")}
    detach(portico, environ=environ)
    yield found
    found.end()
    portico.close()


@pytest.fixture
def person(server: Server) -> Iterator[Person]:
    yield Person(server)
    # Neither the server nor any agent has ever had a terminal.
    running = [server.process, *server.process.children(recursive=True)]
    assert {one.terminal() for one in running if one.is_running()} == {None}


def text_of(events: list[Json]) -> str:
    return "".join(one["textDelta"]["text"] for one in events if "textDelta" in one)


def test_a_session_is_started_and_its_answer_streams(person: Person) -> None:
    session = person.start()
    stream = person.server.stream("Watch", {"sessionId": session})
    events = person.prompt(session, {"stream": {"count": 30, "size": 20}}, {"say": " The end."})
    assert text_of(events).endswith("The end.")
    stream.until("The end.")
    stream.leave()
    assert person.state(session) == "COMPLETED"


def test_a_running_session_is_stopped_and_keeps_what_was_said(person: Person) -> None:
    session = person.start()
    turn = person.server.stream(
        "Invoke", {"sessionId": session, "text": json.dumps([{"say": "Half of"}, {"hang": {}}])}
    )
    turn.until('"textDelta"')
    assert person.server.ask("StopTurn", {"sessionId": session}) == {"stopped": True}
    turn.end()
    assert person.state(session) == "CANCELED"
    assert text_of(person.timeline(session)) == "Half of"


def test_an_interrupted_session_is_resumed(person: Person) -> None:
    session = person.start()
    crash = [{"say": "Half of"}, {"crash": {"code": 3}}]
    person.server.stream("Invoke", {"sessionId": session, "text": json.dumps(crash)}).end()
    wait_until(lambda: person.state(session) == "INTERRUPTED", "the interruption")
    person.server.ask("ResumeSession", {"sessionId": session})
    wait_until(lambda: person.state(session) == "COMPLETED", "the end of the resumed turn")
    assert text_of(person.prompt(session, {"say": " the rest."})) == " the rest."
    assert text_of(person.timeline(session)) == "Half of the rest."


def test_the_history_is_listed_shown_searched_and_cleared(person: Person) -> None:
    session = person.start()
    person.prompt(session, {"say": "A heron on the quay."})
    listed = person.server.ask("ListSessions", {"limit": 50})["sessions"]
    assert session in [one["sessionId"] for one in listed]
    assert "A heron" in text_of(person.timeline(session))

    def hits() -> list[Json]:
        found: list[Json] = person.server.ask("SearchSessions", {"words": "heron quay"}).get("hits", [])
        return found

    wait_until(lambda: bool(hits()), "the search to find it")
    person.server.ask("ClearSession", {"sessionId": session})
    listed = person.server.ask("ListSessions", {"limit": 50}).get("sessions", [])
    assert session not in [one["sessionId"] for one in listed]


def test_a_person_signs_in_and_the_prompt_is_answered(person: Person) -> None:
    session = person.start("locked")
    refused = person.prompt(session)
    (failure,) = [one["error"] for one in refused if "error" in one]
    assert failure["code"] == "ERROR_CODE_AUTH_REQUIRED"
    person.server.ask("AuthenticateAgent", {"sessionId": session, "methodId": "browser"})
    assert text_of(person.prompt(session, {"say": "hello"})) == "Welcome in."


def test_a_key_is_stored_and_removed(person: Person) -> None:
    name = "PORTICO_TEST_API_KEY"
    kept = person.server.ask("SetSecret", {"name": name, "value": "sk-of-a-test-1234567890"})
    assert kept["keeper"].startswith("SECRET_KEEPER_")
    person.server.ask("SetSecret", {"name": name, "value": ""})


def test_settings_are_read_and_changed(person: Person) -> None:
    def setting() -> Json:
        found = person.server.ask("GetSettings", {})["settings"]
        (one,) = [one for one in found if one["name"] == "maxCostUsd"]
        return dict(one)

    assert (setting()["valueJson"], setting()["source"]) == ("1.0", "built-in")
    person.server.ask("SetSettings", {"settings": [{"name": "maxCostUsd", "valueJson": "0.25"}]})
    assert (setting()["valueJson"], setting()["source"]) == ("0.25", "user")
    person.server.ask("SetSettings", {"settings": [{"name": "maxCostUsd", "valueJson": ""}]})
    assert setting()["source"] == "built-in"


def test_an_error_is_shown_and_the_prompt_is_sent_again(person: Person, tmp_path: Path) -> None:
    session = person.start()
    flag = tmp_path / "failed-once"
    fails = {"once": {"mark": str(flag), "steps": [{"error": {"code": -32603, "message": "overloaded"}}]}}
    failed = person.prompt(session, fails, {"say": "Now it works."})
    (error,) = [one["error"] for one in failed if "error" in one]
    assert "overloaded" in error["message"]
    assert person.state(session) == "FAILED"
    (asked,) = [one["promptSubmitted"] for one in person.timeline(session) if "promptSubmitted" in one]
    again = person.prompt(session, *json.loads(asked["text"]))
    assert text_of(again) == "Now it works."


def test_a_file_and_a_selection_reach_the_agent(person: Person) -> None:
    file = person.server.portico.workspace / "boats.py"
    file.write_text("boats = 3\n")
    session = person.start()
    selection = {"name": "boats.py:1-1", "mimeType": "text/x-python", "data": "Ym9hdHMgPSAzCg=="}
    attached = [{"name": "boats.py", "path": "boats.py"}, selection]
    events = person.prompt(session, {"echo": {}}, attachments=attached)
    assert text_of(events).count("boats = 3") >= 1


def test_the_extension_brings_no_terminal_and_opens_none_in_these_workflows() -> None:
    manifest = json.loads((VSCODE / "package.json").read_text())
    assert "terminal" not in manifest["contributes"]
    sources = {path: path.read_text() for path in (VSCODE / "src").rglob("*.ts")}
    makers = {path.name for path, text in sources.items() if "createTerminal(" in text}
    # Only to show the output of a command, and for a command that the agent sends to a terminal of the person.
    assert makers == {"tool-terminal.ts", "user-terminal.ts"}
