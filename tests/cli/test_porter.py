"""`portico exec` with the built-in agent, as a new user would try it: no agent, no model, no settings."""

import sys

import pytest

from tests.support.program import Portico, Ran
from tests.support.stream import Stream

COMMANDS = ("help", "search", "read", "explain", "write", "edit", "fix", "test", "run", "todo", "plan")


def porter(portico: Portico, prompt: str, *flags: str) -> Ran:
    return portico.run("exec", "--json-stream", *flags, prompt)


def test_help_is_a_valid_stream(portico: Portico) -> None:
    ran = porter(portico, "/help")
    stream = ran.stream
    assert (ran.code, ran.err) == (0, "")
    assert stream.lines[0]["payload"]["agent"] == "porter"
    assert stream.lines[0]["seq"] == 1
    assert all(f"/{command}" in stream.answer for command in COMMANDS)
    announced = [one["name"] for one in stream.only("commands_updated")["commands"]]
    assert set(COMMANDS) <= set(announced)


def test_free_text_gets_an_honest_answer(portico: Portico) -> None:
    ran = porter(portico, "please refactor everything")
    assert ran.code == 0
    assert "model" in ran.stream.answer


def test_a_file_is_written_when_that_is_allowed(portico: Portico) -> None:
    stream = porter(portico, "/write notes.md\n# Notes\nhéllo", "--allow", "edit").stream
    assert (portico.workspace / "notes.md").read_text() == "# Notes\nhéllo\n"
    assert stream.only("permission_resolved")["rule"] == "edit"
    (diff,) = [part for part in stream.only("permission_requested")["content"] if part["type"] == "diff"]
    assert diff["newText"] == "# Notes\nhéllo\n"


def test_a_file_is_not_written_when_nobody_can_be_asked(portico: Portico) -> None:
    ran = porter(portico, "/write notes.md\n# Notes")
    assert ran.code == 1
    assert not (portico.workspace / "notes.md").exists()


def test_a_rule_for_commands_sees_the_line_that_is_run(portico: Portico) -> None:
    allowed = porter(portico, "/run echo hello", "--allow", "execute:echo*")
    assert allowed.code == 0
    assert "exit code 0" in allowed.stream.answer
    refused = porter(portico, "/run echo hello; touch x", "--allow", "execute:echo*")
    assert refused.code == 1
    assert not (portico.workspace / "x").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX command")
def test_what_a_command_prints_is_in_the_stream(portico: Portico) -> None:
    stream = porter(portico, "/run printf 'one\\ntwo\\n'", "--allow", "execute").stream
    assert printed(stream) == "one\ntwo\n"


def test_a_conversation_goes_on_in_the_next_process(portico: Portico) -> None:
    first = porter(portico, "/plan first; second").stream
    assert [entry["content"] for entry in first.only("plan_updated")["entries"]] == ["first", "second"]
    again = porter(portico, "/plan done 1", "--continue").stream
    assert again.session_id == first.session_id
    assert [entry["status"] for entry in again.all("plan_updated")[-1]["entries"]] == [
        "completed",
        "in_progress",
    ]


def test_a_folder_that_lends_its_modules_changes_nothing(portico: Portico) -> None:
    (portico.workspace / "portico.py").write_text("raise SystemExit('not the real one')")
    (portico.workspace / "asyncio.py").write_text("raise SystemExit('not the real one')")
    assert porter(portico, "/help").code == 0


def printed(stream: Stream) -> str:
    pieces = [update["terminal"] for update in stream.all("tool_updated") if "terminal" in update]
    return "".join(piece.get("text", "") for piece in pieces)
