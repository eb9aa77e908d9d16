"""Invalid input: exit code 5, one helpful line, and a suggestion."""

import os
import subprocess
import sys

import pytest

from portico.cli.main import COMMANDS
from tests.support.program import PROGRAM, Portico, Ran, ran

MISTAKES = {
    "an unknown command": (["exce", "hello"], "portico exec"),
    "a command nobody knows": (["frobnicate"], "portico --help"),
    "no prompt": (["exec"], "portico exec --help"),
    "an empty prompt": (["exec", ""], "empty"),
    "a prompt of spaces": (["exec", " \t\n "], "empty"),
    "a bad flag": (["exec", "--colour", "red", "hello"], "--colour"),
    "an abbreviated flag": (["exec", "--json", "hello"], "--json"),
    "an agent command that is none": (["exec", "--agent-command", "'unclosed", "hello"], "quote"),
    "an empty agent command": (["exec", "--agent-command", " ", "hello"], "empty"),
    "two agents": (["exec", "--agent", "porter", "--agent-command", "x", "hello"], "not allowed with"),
    "proxies and none": (["acp", "--no-proxies", "--proxy", "x"], "not allowed with"),
    "two sessions": (["exec", "--continue", "--session", "x", "hello"], "not allowed with"),
    "a folder that is not there": (["exec", "--cwd", "nowhere", "hello"], "nowhere"),
    "a folder that cannot be": (["exec", "--cwd", "x" * 300, "hello"], "cannot be used: "),
    "a folder to serve that cannot be": (["serve", "--cwd", "x" * 300], "cannot be used: "),
    "a folder that is a file": (["exec", "--cwd", "a-file", "hello"], "a-file"),
    "an unknown session": (["exec", "--session", "zzz", "hello"], "zzz"),
    "an empty session": (["exec", "--session", "", "hello"], "session"),
    "nothing to continue": (["exec", "--continue", "hello"], "--continue"),
    "a time that is none": (["exec", "--timeout", "soon", "hello"], "soon"),
    "no time at all": (["exec", "--timeout", "0", "hello"], "seconds"),
    "an endless time": (["exec", "--timeout", "inf", "hello"], "seconds"),
    "a rule that is none": (["exec", "--allow", "everything", "hello"], "everything"),
    "a rule without its pattern": (["exec", "--deny", "edit:", "hello"], "edit:"),
    "no action on sessions": (["sessions"], "portico sessions --help"),
    "an unknown action on sessions": (["sessions", "burn"], "burn"),
    "no session to show": (["sessions", "show"], "portico sessions list"),
    "no session to delete": (["sessions", "delete"], "portico sessions list"),
    "no session to export": (["sessions", "export"], "portico sessions list"),
    "an unknown session to show": (["sessions", "show", "zzz"], "zzz"),
    "an unknown session to delete": (["sessions", "delete", "zzz"], "zzz"),
    "an unknown session to export": (["sessions", "export", "zzz"], "zzz"),
    "an unknown form of export": (["sessions", "export", "x", "--format", "pdf"], "pdf"),
    "a limit of nothing": (["sessions", "list", "--limit", "0"], "above zero"),
    "an unknown contract": (["schema", "stroem"], "stroem"),
    "no contract": (["schema"], "portico schema --help"),
    "a version of something": (["version", "python"], "python"),
    "a doctor for somebody": (["doctor", "me"], "me"),
    "a list of one session": (["sessions", "list", "zzz"], "does not take zzz"),
    "one session to verify": (["sessions", "verify", "zzz"], "does not take zzz"),
    "a list of one agent": (["agents", "list", "claude"], "does not take claude"),
    "a list of one approval": (["approvals", "list", "zzz"], "does not take zzz"),
    "a flag of another action": (["sessions", "show", "--limit", "3", "x"], "does not take --limit"),
    "a flag of another action on models": (["models", "list", "--wheel", "f"], "does not take --wheel"),
    "a flag of another action on agents": (["agents", "list", "--yes"], "does not take --yes"),
    "a flag of another action on checkpoints": (["checkpoints", "list", "--stat"], "does not take --stat"),
    "a flag of another action on traces": (["trace", "replay", "--full", "f"], "does not take --full"),
    "an action that is the value of a flag": (["sessions", "--cwd", "list"], "needs an action"),
    "the home of nobody": (["exec", "--cwd", "~nobody-here/x", "hello"], "~nobody-here/x is not a folder"),
    "a file of nobody": (["exec", "--attach", "~nobody-here/x", "hello"], "does not exist"),
}


def complain(ran: Ran, about: str) -> None:
    assert ran.code == 5, ran.err
    assert ran.out == b""
    assert 1 <= len(ran.complaint) <= 2, ran.err
    assert ran.complaint[0].startswith("portico: ")
    assert about in ran.err


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_a_line(portico: Portico, mistake: str) -> None:
    arguments, about = MISTAKES[mistake]
    (portico.workspace / "a-file").touch()
    complain(portico.run(*arguments), about)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_to_a_program(portico: Portico, mistake: str) -> None:
    arguments, about = MISTAKES[mistake]
    (portico.workspace / "a-file").touch()
    ran = portico.run(*arguments[:1], "--api", *arguments[1:])
    assert (ran.code, ran.err) == (5, "")
    told = ran.api
    assert told["status"] == "failed"
    assert about in f"{told['error']} {told['diagnostics']['suggestion']}"
    assert told["diagnostics"]["exit_code"] == 5
    assert told["diagnostics"]["error_code"] in ("INVALID_INPUT", "SESSION_NOT_FOUND")
    assert len(told["diagnostics"]["trace_id"]) == 16


def test_no_command_at_all_is_a_mistake_of_a_program(portico: Portico) -> None:
    ran = portico.run("--api")
    assert (ran.code, ran.api["status"], ran.api["diagnostics"]["exit_code"]) == (5, "failed", 5)


def test_each_way_to_ask_an_evaluation_for_json_tells_a_mistake_in_json(portico: Portico) -> None:
    for flag in ("--api", "--json"):
        ran = portico.run("eval", flag, "--task", "no-such-task")
        assert (ran.code, ran.err, ran.api["status"]) == (5, "", "failed")


def test_a_word_of_the_prompt_does_not_ask_for_json(portico: Portico) -> None:
    complain(portico.run("exec", "--session", "zzz", "--", "--api"), "zzz")


@pytest.mark.parametrize("action", ["review", "checkpoints"])
def test_only_what_is_missing_is_asked_for(portico: Portico, action: str) -> None:
    ran = portico.run(action)
    complain(ran, "needs an action. Available: ")


@pytest.mark.parametrize(
    ("command", "action", "flag"),
    [
        ("sessions", "list", "--limit"),
        ("review", "apply", "--theirs"),
        ("checkpoints", "diff", "--stat"),
        ("agents", "login", "--method"),
        ("models", "use", "--key-variable"),
        ("trace", "show", "--full"),
        ("prompts", "run", "--json-stream"),
    ],
)
def test_each_action_has_help_of_its_own(portico: Portico, command: str, action: str, flag: str) -> None:
    overview = portico.run(command, "--help").text
    assert f"\n  {action} " in overview
    assert flag not in overview.partition("examples:")[0]
    own = portico.run(command, action, "--help").text
    assert own.startswith(f"usage: portico {command} {action} ")
    assert flag in own


def test_flags_may_stand_before_the_action(portico: Portico) -> None:
    assert portico.run("sessions", "--all", "--limit", "3", "list", "--api").api["count"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there a folder that somebody is in stays")
@pytest.mark.parametrize("words", [["exec", "hello"], ["sessions", "list"], ["doctor"], ["agents", "list"]])
def test_whoever_is_in_a_folder_that_is_gone_is_told_so(portico: Portico, words: list[str]) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", PROGRAM, *words],
        cwd=portico.workspace,
        env=portico.environ(),
        capture_output=True,
        check=False,
    )
    complain(ran(done.returncode, done.stdout, done.stderr), "The current folder no longer exists.")


def test_a_home_of_nobody_is_named(portico: Portico) -> None:
    ran = portico.run("exec", "hello", environ={"PORTICO_HOME": "~nobody-here/portico"})
    complain(ran, "PORTICO_HOME is ~nobody-here/portico")


@pytest.mark.skipif(sys.platform == "win32", reason="XDG's folders are POSIX")
def test_a_folder_of_xdg_that_is_not_absolute_does_not_count(portico: Portico) -> None:
    environ = {"PORTICO_HOME": "", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
    ran = portico.run("exec", "--agent-command", portico.agent, "say hello", environ=environ)
    assert (ran.code, ran.text.strip()) == (0, "hello")
    assert not list(portico.workspace.iterdir())


def test_a_mistake_before_a_stream_begins_leaves_the_stream_empty(portico: Portico) -> None:
    complain(portico.run("exec", "--json-stream", "--session", "zzz", "hello"), "zzz")


def test_only_one_form_of_output_can_be_had(portico: Portico) -> None:
    ran = portico.run("exec", "--api", "--json-stream", "hello")
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (5, "INVALID_INPUT")


def test_a_prompt_on_standard_input_that_is_not_utf_8_is_refused(portico: Portico) -> None:
    complain(portico.run("exec", "-", stdin=b"say caf\xe9"), "UTF-8")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere words and names are always text")
def test_words_and_folders_that_are_not_utf_8_are_refused(portico: Portico) -> None:
    complain(portico.run("exec", os.fsdecode(b"say \xff")), "The prompt is not UTF-8")
    odd = portico.workspace / os.fsdecode(b"odd\xff")
    odd.mkdir()
    for words in (("exec", "say hi"), ("sessions", "list"), ("review", "show"), ("checkpoints", "list")):
        complain(portico.run(*words, "--cwd", str(odd)), "The name of the folder is not UTF-8")
        complain(portico.run(*words, cwd=odd), "The name of the folder is not UTF-8")
    assert portico.run("sessions", "list", "--all", "--api").api["count"] == 0


def test_an_empty_prompt_on_standard_input_is_refused(portico: Portico) -> None:
    complain(portico.run("exec", "-", stdin=b" \n"), "empty")


def test_a_beginning_that_several_sessions_have_is_refused(portico: Portico) -> None:
    first = portico.exec("say one").stream.session_id
    second = portico.exec("say two").stream.session_id
    shared = next(first[:length] for length in range(len(first), 0, -1) if second.startswith(first[:length]))
    complain(portico.run("sessions", "show", shared), "Several")


WRONG = [
    '{"agent": ',
    '{"agents": {"x": {}}}',
    '{"colour": "red"}',
    "[]",
    '{"permissions": {"allow": ["fly"]}}',
]


@pytest.mark.parametrize("text", WRONG)
def test_settings_that_are_wrong_are_named(portico: Portico, text: str) -> None:
    portico.settings(text)
    complain(portico.run("exec", "--agent-command", portico.agent, "say hi"), "")


@pytest.mark.parametrize("trusted", [[], ["."]])
def test_settings_of_a_folder_that_are_wrong_are_told_and_stop_nothing(
    portico: Portico, trusted: list[str]
) -> None:
    portico.settings({"trustedWorkspaces": [str(portico.workspace / one) for one in trusted]})
    portico.workspace_settings(WRONG[0])
    ran = portico.run("exec", "--agent-command", portico.agent, "say hi")
    assert ran.code == 0
    assert "hi" in ran.text
    assert "The settings of this folder are ignored." in ran.err


def test_the_line_of_a_mistake_in_the_settings_is_the_one_in_the_file(portico: Portico) -> None:
    portico.settings('{\n  // für später: ärgerlich\n  "agent": "porter",\n  "model": porter\n}\n')
    complain(portico.run("exec", "hello"), "(line 4)")


def test_a_rule_of_the_settings_that_is_none_is_told_as_one_of_the_settings(portico: Portico) -> None:
    portico.settings({"permissions": {"deny": ["fly"]}})
    complain(portico.run("exec", "hello"), "In the settings: 'fly'")


def test_settings_that_cannot_be_read_are_told_without_the_words_of_the_system(portico: Portico) -> None:
    portico.settings("{}")
    (file,) = portico.home.rglob("settings.json")
    file.write_bytes(b'{"agent": "\xff"}')
    complain(portico.run("agents", "list"), "it is not UTF-8")
    file.unlink()
    file.mkdir()
    ran = portico.run("agents", "list")
    complain(ran, "cannot be read: ")
    assert "Errno" not in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("words", [("sessions", "list"), ("review", "show"), ("checkpoints", "list")])
def test_a_folder_that_leads_round_in_a_circle_has_no_sessions(
    portico: Portico, words: tuple[str, ...]
) -> None:
    (portico.workspace / "loop").symlink_to("loop")
    ran = portico.run(*words, "--cwd", "loop")
    assert ran.code in (0, 5)
    assert "should not" not in ran.err


def test_a_prompt_of_40_mb_is_told_how_large_it_may_be_and_what_to_do_instead(portico: Portico) -> None:
    ran = portico.run("exec", "--agent-command", portico.agent, "-", stdin=b"say " + b"x" * 40_000_000)
    complain(ran, "The prompt and its attachments have 38.1 MB; the limit is 30 MB.")
    assert "mention it as @path" in ran.complaint[1]
    assert "up to 10 MB can be attached" in ran.complaint[1]
    assert portico.run("sessions", "list", "--all", "--api").api["count"] == 0


def test_a_mistake_leaves_no_session_behind(portico: Portico) -> None:
    portico.run("exec", "--allow", "everything", "hello")
    portico.run("exec", "--agent", "nobody", "hello")
    portico.run("exec", "", "--agent-command", portico.agent)
    assert portico.run("sessions", "list", "--all", "--api").api["count"] == 0


@pytest.mark.parametrize("command", ["exec", "sessions", "doctor", "schema", "version"])
def test_help_is_for_people_and_is_no_failure(portico: Portico, command: str) -> None:
    ran = portico.run(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"portico {command}" in ran.text


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_whoever_types_nothing_sees_what_there_is(portico: Portico, words: list[str]) -> None:
    ran = portico.run(*words)
    assert ran.code == 0
    assert all(command in ran.text for command in COMMANDS)
