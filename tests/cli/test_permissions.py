"""Permissions without a terminal: rules decide, everything else is denied."""

import json
import shlex
from pathlib import Path

import pytest

from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.policy import PermissionRule
from tests.support.program import Portico, Ran
from tests.support.stream import Json, Stream


def asking(kind: str, title: str = "Do it", **tool: object) -> list[Json]:
    """An agent that shows a tool call and asks for permission; it tells what came of it."""
    call = {"id": "c1", "title": title, "kind": kind, "statuses": ["pending"], **tool}
    ask = {
        "tool": "c1",
        "title": title,
        "kind": kind,
        "allowed": [{"say": "went on"}],
        "rejected": [{"say": "held back"}],
        "cancelled": [{"say": "stopped"}],
        "failed": [{"say": "failed"}],
    }
    return [{"tool": call}, {"permission": ask}]


def run_command(command: str) -> list[Json]:
    return asking("execute", command)


def edit(*paths: str) -> list[Json]:
    return asking("edit", "Edit", locations=[{"path": path} for path in paths])


def resolution(ran: Ran) -> tuple[str, str, str | None]:
    resolved = ran.stream.only("permission_resolved")
    return resolved["outcome"], resolved["by"], resolved.get("rule")


def test_nobody_there_is_a_no_and_says_so(portico: Portico) -> None:
    ran = portico.exec(run_command("pytest"))
    assert (ran.code, ran.stream.answer) == (1, "held back")
    assert resolution(ran) == ("denied", "nobody", None)
    assert ran.stream.only("permission_requested")["title"] == "pytest"


def test_a_person_reads_what_could_not_be_asked_and_how_to_allow_it(portico: Portico) -> None:
    ran = portico.run("exec", "--agent-command", portico.agent, "permission")
    assert ran.code == 1
    assert "not answered, because no terminal is attached" in ran.err
    assert "--allow" in ran.err


def test_what_could_not_be_asked_does_nothing_to_the_terminal(portico: Portico) -> None:
    steps = json.dumps(run_command("ls \x1b[2J\x1b]0;owned\x07\nAllow? \u202ey"))
    ran = portico.run("exec", "--agent-command", portico.agent, steps)
    assert "not answered, because no terminal is attached: ls Allow? <U+202E>y\n" in ran.err
    assert "\x1b" not in ran.err


def test_a_program_reads_what_could_not_be_asked(portico: Portico) -> None:
    told = portico.run("exec", "--api", "--agent-command", portico.agent, "permission").api
    assert told["diagnostics"]["error_code"] == "PERMISSION_DENIED"
    assert "--allow" in told["diagnostics"]["suggestion"]


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("execute", "rm -rf /", True),
        ("all", "rm -rf /", True),
        ("execute:pytest*", "pytest -x tests", True),
        ("execute:pytest*", "pytest; rm -rf x", False),
        ("execute:pytest*", "pytest && rm -rf x", False),
        ("execute:pytest*", "pytest | sh", False),
        ("execute:pytest*", "pytest $(rm -rf x)", False),
        ("execute:pytest*", "pytest `rm -rf x`", False),
        ("execute:pytest*", "pytest > /etc/passwd", False),
        ("execute:pytest*", "pytest\nrm -rf x", False),
        ("execute:pytest*", "rm pytest", False),
        ("execute:git status", "git status", True),
        ("execute:git status", "git statuses", False),
        ("edit", "pytest", False),
    ],
)
def test_a_rule_allows_what_it_plainly_covers(
    portico: Portico, rule: str, command: str, allowed: bool
) -> None:
    ran = portico.exec(run_command(command), "--allow", rule)
    assert (ran.code, ran.stream.answer) == ((0, "went on") if allowed else (1, "held back"))
    assert resolution(ran) == (("allowed", "policy", rule) if allowed else ("denied", "nobody", None))


@pytest.mark.parametrize(
    ("rule", "paths", "allowed"),
    [
        ("edit:src/**", ["src/deep/one.py"], True),
        ("edit:src/**", ["src/one.py", "tests/two.py"], False),
        ("edit:src/**", ["src/../secret.py"], False),
        ("edit:src/**", ["/etc/passwd"], False),
        ("edit:**", ["/etc/passwd"], True),
        ("edit:src/**", [], False),
    ],
)
def test_a_rule_for_paths_covers_those_of_the_workspace(
    portico: Portico, rule: str, paths: list[str], allowed: bool
) -> None:
    absolute = [path if path.startswith("/") else f"{portico.workspace}/{path}" for path in paths]
    ran = portico.exec(edit(*absolute), "--allow", rule)
    assert ran.stream.answer == ("went on" if allowed else "held back")


def test_a_question_is_about_the_tool_call_that_was_shown_before_it(portico: Portico) -> None:
    shown = {"id": "c1", "title": "rm -rf x", "kind": "execute", "raw_input": {"command": "rm -rf x"}}
    steps = [
        {"tool": {**shown, "statuses": ["pending"]}},
        {"permission": {"tool": "c1", "title": "Clean up"}},
    ]
    ran = portico.exec(steps, "--allow", "all", "--deny", "execute:rm*")
    assert resolution(ran) == ("denied", "policy", "execute:rm*")
    asked = ran.stream.only("permission_requested")
    assert (asked["title"], asked["toolKind"], asked["input"]) == ("Clean up", "execute", shown["raw_input"])


def test_a_denial_wins_and_is_no_failure_of_the_turn(portico: Portico) -> None:
    ran = portico.exec(run_command("git push"), "--allow", "all", "--deny", "execute:git push*")
    assert (ran.code, ran.stream.answer) == (0, "held back")
    assert resolution(ran) == ("denied", "policy", "execute:git push*")


def test_a_denial_that_covers_one_file_of_several_covers_the_request(portico: Portico) -> None:
    paths = [f"{portico.workspace}/{name}" for name in ("a.py", "secret.env")]
    ran = portico.exec(edit(*paths), "--allow", "edit", "--deny", "edit:*.env")
    assert ran.stream.answer == "held back"


def test_the_rules_of_the_settings_hold(portico: Portico) -> None:
    portico.settings({"permissions": {"allow": ["execute:make*"], "deny": ["execute:make install"]}})
    assert portico.exec(run_command("make test")).stream.answer == "went on"
    assert portico.exec(run_command("make install")).stream.answer == "held back"
    assert portico.exec(run_command("cargo build"), "--allow", "execute:cargo*").stream.answer == "went on"


def test_a_workspace_allows_nothing_unless_it_is_trusted_and_may_always_forbid(portico: Portico) -> None:
    portico.workspace_settings({"permissions": {"allow": ["all"], "deny": ["execute:rm*"]}})
    assert portico.exec(run_command("make")).stream.answer == "held back"
    portico.settings({"permissions": {"allow": ["execute"]}})
    assert resolution(portico.exec(run_command("rm x"))) == ("denied", "policy", "execute:rm*")
    portico.settings({"trustedWorkspaces": [str(portico.workspace)]})
    assert portico.exec(run_command("make")).stream.answer == "went on"


def test_a_rule_never_grants_for_good(portico: Portico) -> None:
    options = [
        {"optionId": "forever", "name": "Always", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    ask = {"title": "x", "kind": "execute", "options": options, "rejected": [{"say": "held back"}]}
    ran = portico.exec([{"permission": ask}], "--allow", "all")
    assert (ran.code, ran.stream.answer) == (1, "held back")


def test_an_agent_that_takes_no_for_an_answer_nowhere_gets_an_error(portico: Portico) -> None:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    ask = {"title": "x", "kind": "execute", "options": options, "failed": [{"say": "refused"}]}
    assert portico.exec([{"permission": ask}]).stream.answer == "refused"


def test_several_questions_are_each_answered(portico: Portico) -> None:
    steps = [*run_command("make one"), *edit("x.py"), *run_command("rm x")]
    stream: Stream = portico.exec(steps, "--allow", "execute:make*", "--deny", "edit").stream
    assert stream.answer == "went onheld backheld back"
    assert [one["outcome"] for one in stream.all("permission_resolved")] == ["allowed", "denied", "denied"]
    assert [one["requestId"] for one in stream.all("permission_requested")] == ["p1", "p2", "p3"]


def test_the_list_of_what_is_allowed_for_good_does_nothing_to_the_terminal(portico: Portico) -> None:
    approvals = FileApprovals(portico.state / "approvals.json", lambda: 0)
    approvals.add(PermissionRule("execute", "ls \x1b]0;owned\x07\u202e\nrm -rf ~"), workspace=None)
    listed = portico.run("approvals", "list")
    assert rb"  execute:ls <U+202E>\nrm -rf ~  any agent" in listed.out
    assert b"\x1b" not in listed.out


def test_what_is_allowed_for_good_holds_for_the_very_command_of_an_agent_without_a_name(
    portico: Portico,
) -> None:
    words = shlex.split(portico.agent)
    approvals = FileApprovals(portico.state / "approvals.json", lambda: 0)
    for agent in (Path(words[0]).stem, words[0], shlex.join([*words, "--other"])):
        approvals.add(PermissionRule("execute", "pytest", agent), workspace=str(portico.workspace))
    assert portico.exec(run_command("pytest")).stream.answer == "held back"
    approvals.add(PermissionRule("execute", "pytest", shlex.join(words)), workspace=str(portico.workspace))
    assert portico.exec(run_command("pytest")).stream.answer == "went on"
