"""A known agent that is not installed: a person at a terminal can have it installed on the spot, and only by a yes."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portico.domain.errors import EXIT_CODES, ErrorCode, ExitCode
from tests.rpc.process_tree import script
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

PACKAGE = "@google/gemini-cli@1.2.3"
QUESTION = "Install it now? [y/N] "
HINT = "portico agents install gemini"
AGENT_NOT_FOUND = int(EXIT_CODES[ErrorCode.AGENT_NOT_FOUND])
# npm as far as it is used here. What it installs is the scripted agent.
NPM = """#!/bin/sh
echo "$*" >> "$HOME/calls"
case "$1" in
view) echo 1.2.3 ;;
install) mkdir -p "$3/node_modules/.bin" && cp "$HOME/gemini" "$3/node_modules/.bin/gemini" ;;
esac
"""

Sit = Callable[..., Terminal]


class Machine:
    """A person's machine with an npm on it that notes what it is told, and no agent."""

    def __init__(self, portico: Portico) -> None:
        self.portico = portico
        self.programs = portico.home / "bin"
        self.programs.mkdir()
        script(self.programs, "npm", NPM)
        script(portico.home, "gemini", f"#!/bin/sh\nexec {portico.agent}\n")
        self.path = {"PATH": f"{self.programs}:/usr/bin:/bin"}

    @property
    def calls(self) -> list[str]:
        """The first word of every call of npm."""
        noted = self.portico.home / "calls"
        return [line.partition(" ")[0] for line in noted.read_text().splitlines()] if noted.exists() else []

    @property
    def installed(self) -> Path:
        return self.portico.state / "agents" / "gemini"

    @property
    def sessions(self) -> int:
        count = self.portico.run("sessions", "list", "--api").api["count"]
        assert isinstance(count, int)
        return count


@pytest.fixture
def machine(portico: Portico) -> Machine:
    return Machine(portico)


@pytest.fixture
def sit(machine: Machine) -> Iterator[Sit]:
    """Sit down at a terminal of that machine and type a command."""
    terminals: list[Terminal] = []

    def type_command(*words: str, term: str = "xterm-256color") -> Terminal:
        environ = machine.portico.environ({**machine.path, "TERM": term})
        terminals.append(Terminal((str(PROGRAM), *words), cwd=machine.portico.workspace, environ=environ))
        return terminals[-1]

    yield type_command
    for terminal in terminals:
        terminal.close()


def test_a_yes_installs_the_agent_and_the_chat_goes_on(machine: Machine, sit: Sit) -> None:
    terminal = sit("chat", "--agent", "gemini")
    terminal.until(PACKAGE)
    terminal.until(QUESTION)
    assert machine.calls == ["view"]
    terminal.press("y\r")
    terminal.until(f"Installing {PACKAGE}")
    terminal.until("Installed")
    terminal.until("❯")
    terminal.press("say aye\r")
    terminal.until("✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    assert machine.calls == ["view", "install"]
    ran = machine.portico.run("exec", "--continue", "say again", environ=machine.path)
    assert (ran.code, ran.text) == (0, "again\n")


@pytest.mark.parametrize("answer", ["n\r", "\r", "\x04"])
def test_without_a_yes_nothing_is_installed_and_the_command_for_later_is_named(
    machine: Machine, sit: Sit, answer: str
) -> None:
    terminal = sit("chat", "--agent", "gemini", term="dumb")
    terminal.until(QUESTION)
    terminal.press(answer)
    terminal.until(HINT)
    assert terminal.end() == AGENT_NOT_FOUND
    assert machine.calls == ["view"]
    assert not machine.installed.exists()
    assert machine.sessions == 0


def test_what_was_typed_before_the_question_installs_nothing(machine: Machine, sit: Sit) -> None:
    go = machine.portico.home / "go"
    wait = f'for n in $(seq 1500); do [ -e "{go}" ] && break; sleep 0.02; done; echo 1.2.3'
    script(machine.programs, "npm", NPM.replace("echo 1.2.3", wait))
    terminal = sit("chat", "--agent", "gemini")
    terminal.until("Looking up")
    terminal.press("y\r")
    terminal.until("y")
    go.touch()
    terminal.until(QUESTION)
    terminal.press("n\r")
    terminal.until(HINT)
    assert terminal.end() == AGENT_NOT_FOUND
    assert machine.calls == ["view"]


def test_exec_asks_on_standard_error_and_goes_on_with_the_prompt(machine: Machine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = f'exec "{PROGRAM}" exec --agent gemini "say aye" > "{out}"'
    terminal = Terminal(
        ("/bin/sh", "-c", command),
        cwd=machine.portico.workspace,
        environ=machine.portico.environ({**machine.path, "TERM": "dumb"}),
    )
    try:
        terminal.until(QUESTION)
        terminal.press("yes\r")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert out.read_text() == "aye\n"


def test_programs_are_not_asked_and_npm_is_not_called(machine: Machine, sit: Sit) -> None:
    for flag in ("--api", "--json-stream"):
        terminal = sit("exec", flag, "--agent", "gemini", "say aye")
        assert terminal.end() == AGENT_NOT_FOUND
        assert QUESTION not in terminal.text
    ran = machine.portico.run("exec", "--agent", "gemini", "say aye", environ=machine.path, stdin=b"y\n")
    assert ran.code == AGENT_NOT_FOUND
    assert HINT in ran.err
    assert machine.calls == []


def test_an_installation_that_fails_says_why_and_begins_no_session(machine: Machine, sit: Sit) -> None:
    npm = "#!/bin/sh\nif [ $1 = view ]; then echo 1.2.3; else echo 'no route to host' >&2; exit 1; fi\n"
    script(machine.programs, "npm", npm)
    terminal = sit("chat", "--agent", "gemini")
    terminal.until(QUESTION)
    terminal.press("y\r")
    terminal.until("no route to host")
    assert terminal.end() != 0
    assert machine.sessions == 0


def test_a_registry_that_cannot_be_asked_is_the_reason_given(machine: Machine, sit: Sit) -> None:
    script(machine.programs, "npm", "#!/bin/sh\necho 'no route to host' >&2; exit 1\n")
    terminal = sit("chat", "--agent", "gemini")
    terminal.until("gemini is not installed")
    terminal.until("no route to host")
    assert terminal.end() == AGENT_NOT_FOUND
    assert QUESTION not in terminal.text


def test_an_agent_given_by_its_command_is_not_offered(machine: Machine, sit: Sit) -> None:
    terminal = sit("exec", "--agent-command", "gemini --acp", "say aye")
    assert terminal.end() == AGENT_NOT_FOUND
    assert machine.calls == []


def test_ctrl_c_while_it_installs_ends_the_command_and_leaves_nothing(machine: Machine, sit: Sit) -> None:
    # Deaf to the terminal's Ctrl-C: ending it is Portico's task.
    script(machine.programs, "npm", NPM.replace("install) ", "install) trap '' INT; sleep 60; "))
    terminal = sit("chat", "--agent", "gemini")
    terminal.until(QUESTION)
    terminal.press("y\r")
    terminal.until("Installing")
    wait_until(lambda: "install" in machine.calls, "the call of npm")
    terminal.press("\x03")
    assert terminal.end() == ExitCode.POLICY
    assert terminal.is_as_before()
    assert list(machine.installed.parent.iterdir()) == []
    assert machine.sessions == 0


def test_the_agent_of_a_session_in_the_users_server_is_not_offered(
    machine: Machine, server: Server, sit: Sit
) -> None:
    portico = machine.portico
    shutil.copy(portico.home / "gemini", machine.programs)
    assert portico.run("serve", "--detach", environ=machine.path).code == 0
    detail = server.ask("StartSession", {"agent": "gemini", "workspace": str(portico.workspace)})
    session_id = detail["session"]["summary"]["sessionId"]
    portico.run("exec", "--session", session_id, "say aye")
    (machine.programs / "gemini").unlink()
    terminal = sit("exec", "--session", session_id, "say again")
    terminal.until("again")
    assert terminal.end() == 0
    assert QUESTION not in terminal.text
    assert machine.calls == []
