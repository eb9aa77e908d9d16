"""`--api`: every command prints one JSON object on standard output, whatever happens."""

import json

import pytest

from portico import __version__
from tests.support.program import Portico


def test_exec_tells_the_answer(portico: Portico) -> None:
    ran = portico.run("exec", "--api", "--agent-command", portico.agent, "tool\nsay hello")
    told = ran.api
    assert (ran.code, ran.err) == (0, "")
    assert told.pop("durationMs") >= 0
    session_id = told.pop("sessionId")
    assert told == {"status": "completed", "text": "hello", "stopReason": "end_turn", "toolsUsed": 1}
    assert portico.run("sessions", "show", "--api", session_id).code == 0


@pytest.mark.parametrize("words", [["--api", "version"], ["version", "--api"], ["--api", "--version"]])
def test_the_flag_may_stand_before_or_behind_the_command(portico: Portico, words: list[str]) -> None:
    told = portico.run(*words).api
    assert told == {"status": "ok", "name": "portico", "version": __version__}


def test_sessions_list_tells_each_session(portico: Portico) -> None:
    assert portico.run("sessions", "list", "--api").api == {"status": "ok", "sessions": [], "count": 0}
    one = portico.exec("say one").stream
    two = portico.exec("title The second\nsay two").stream
    told = portico.run("sessions", "list", "--api").api
    assert (told["status"], told["count"]) == ("ok", 2)
    assert [session["sessionId"] for session in told["sessions"]] == [two.session_id, one.session_id]
    newest = told["sessions"][0]
    assert (newest["title"], newest["state"]) == ("The second", "completed")
    assert newest["workspace"] == str(portico.workspace)
    assert newest["events"] == two.lines[-1]["seq"]
    assert newest["updatedAt"] == two.lines[-1]["timestamp"]


def test_sessions_show_tells_one_session(portico: Portico) -> None:
    stream = portico.exec("say one").stream
    told = portico.run("sessions", "show", stream.session_id, "--api").api
    assert told["status"] == "ok"
    assert told["session"]["sessionId"] == stream.session_id


def test_sessions_delete_tells_what_is_gone(portico: Portico) -> None:
    stream = portico.exec("say one").stream
    told = portico.run("sessions", "delete", "--api", stream.session_id).api
    assert told == {"status": "ok", "deleted": stream.session_id}
    assert portico.run("sessions", "list", "--api").api["count"] == 0


def test_sessions_verify_tells_that_all_is_whole(portico: Portico) -> None:
    portico.exec("say one")
    assert portico.run("sessions", "verify", "--api").api == {"status": "ok", "problems": []}


def test_sessions_export_tells_every_event(portico: Portico) -> None:
    stream = portico.exec("say one").stream
    told = json.loads(portico.run("sessions", "export", "--api", stream.session_id).out)
    assert told["sessionId"] == stream.session_id
    assert [event["seq"] for event in told["events"]] == [line["seq"] for line in stream.lines]


def test_doctor_tells_what_it_found(portico: Portico) -> None:
    ran = portico.run("doctor", "--api")
    assert (ran.code, ran.api["status"], ran.api["version"]) == (0, "ok", __version__)
    subjects = {finding["subject"]: finding["verdict"] for finding in ran.api["findings"]}
    assert {"portico", "sqlite", "event log", "settings", "agent porter"} <= subjects.keys()
    assert "problem" not in subjects.values()


def test_doctor_tells_of_a_problem_and_fails(portico: Portico) -> None:
    portico.settings('{"colour": "red"}')
    ran = portico.run("doctor", "--api")
    (problem,) = [finding for finding in ran.api["findings"] if finding["verdict"] == "problem"]
    assert (ran.code, ran.api["status"], problem["subject"]) == (2, "failed", "settings")
    assert problem["suggestion"]
    told = portico.run("doctor")
    assert told.code == 2
    assert "There are problems" in told.text


@pytest.mark.parametrize(
    ("settings", "subject"),
    [({"agent": "nobody"}, "agent"), ({"permissions": {"allow": ["fly"]}}, "settings")],
)
def test_doctor_finds_what_keeps_every_turn_from_beginning(
    portico: Portico, settings: dict[str, object], subject: str
) -> None:
    portico.settings(settings)
    ran = portico.run("doctor", "--api")
    (problem,) = [finding for finding in ran.api["findings"] if finding["verdict"] == "problem"]
    assert (ran.code, problem["subject"]) == (2, subject)
    assert problem["suggestion"]


def test_the_agent_that_the_environment_chooses_is_the_one_of_an_editor(portico: Portico) -> None:
    hello = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}\n'
    ran = portico.run("acp", stdin=hello, environ={"PORTICO_AGENT": "nobody"})
    assert "nobody" in json.loads(ran.out)["error"]["message"]


def test_the_agent_that_the_environment_chooses_is_the_default(portico: Portico) -> None:
    ran = portico.run("agents", "list", "--api", environ={"PORTICO_AGENT": "goose"})
    assert [one["name"] for one in ran.api["agents"] if one.get("default")] == ["goose"]


@pytest.mark.parametrize(
    "words",
    [
        ("models", "list", "--api", "anthropic"),
        ("auth", "status", "--api", "anthropic"),
        ("agents", "check", "--api", "porter"),
        ("sessions", "--api", "list"),
    ],
)
def test_the_flag_may_stand_between_the_words_of_a_command(portico: Portico, words: tuple[str, ...]) -> None:
    ran = portico.run(*words)
    assert (ran.code, ran.api["status"]) == (0, "ok")


def test_doctor_reassures_a_person(portico: Portico) -> None:
    ran = portico.run("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert ran.text.endswith("Everything works.\n")


def test_schema_is_one_json_document_with_or_without_the_flag(portico: Portico) -> None:
    plain, api = portico.run("schema", "stream"), portico.run("schema", "stream", "--api")
    assert json.loads(plain.out) == json.loads(api.out)
    assert plain.code == api.code == 0


def test_chat_is_for_people(portico: Portico) -> None:
    ran = portico.run("chat", "--api")
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (5, "INVALID_INPUT")
