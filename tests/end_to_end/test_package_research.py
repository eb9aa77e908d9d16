"""A foreign agent asks about a package, does the research in a second session, and gets nothing beyond reading."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from portico.domain.errors import ExitCode
from tests.review.trees import write
from tests.support.program import PROGRAM, Portico
from tests.support.terminal import Terminal

AGENT = Path(__file__).parents[1] / "peers" / "researching_agent.py"


@pytest.fixture(autouse=True)
def package(portico: Portico) -> None:
    write(
        portico.workspace,
        {
            "package.json": "{}",
            "secret.txt": "mine",
            "node_modules/thing/package.json": '{"version": "1.0.0"}',
            "node_modules/thing/lib/code.js": "function one() { return 1 }\n",
        },
    )


def command(*flags: str) -> str:
    return shlex.join([sys.executable, str(AGENT), *flags])


def test_an_agent_with_two_sessions_does_the_research(portico: Portico) -> None:
    stream = portico.exec("ask", "--agent-command", command()).stream
    head, _, findings = stream.answer.partition("\n\n")
    assert head.startswith("thing 1.0.0 (npm), researched in ")
    assert findings == "permissions: no no no once; lib/code.js:1: function one() { return 1 }"
    (card,) = stream.all("tool_started")
    assert card["title"] == "Research thing 1.0.0 (npm): What does one() return?"
    assert stream.only("tool_completed")["success"] is True
    assert stream.all("permission_requested") == []
    again = portico.exec("ask", "--agent-command", command()).stream
    assert again.answer.startswith("thing 1.0.0 (npm), from earlier research:")
    assert "What does one() return?" in portico.run("packages", "research").text


def test_an_agent_with_one_session_is_told_to_read_itself(portico: Portico) -> None:
    stream = portico.exec("ask", "--agent-command", command("one-session")).stream
    assert "this agent holds one session" in stream.answer
    assert "Use package_search and package_read yourself." in stream.answer


def test_an_agent_that_dies_in_its_research_interrupts_the_turn(portico: Portico) -> None:
    ran = portico.exec("ask", "--agent-command", command("dies"))
    assert ran.code == ExitCode.TRANSPORT
    assert ran.stream.types[-1] == "done"
    assert "AGENT_CRASHED" in json.dumps(ran.stream.lines)
    assert portico.run("packages", "research").text == "No package has been researched yet.\n"


def test_one_research_is_stopped_in_the_terminal_while_the_other_and_the_turn_go_on(portico: Portico) -> None:
    flags = ("--agent-command", command("two-questions"))
    terminal = Terminal(
        (str(PROGRAM), "exec", "ask", *flags),
        cwd=portico.workspace,
        environ=portico.environ({"TERM": "xterm"}),
    )
    try:
        terminal.until("What never ends?", seconds=90)
        terminal.press("\x1c")
        terminal.until("The person stopped this research.", seconds=90)
        terminal.until("Second: The person stopped this research.")
        terminal.until("First: thing 1.0.0 (npm), researched in ")
        assert terminal.end() == 0
    finally:
        terminal.close()
