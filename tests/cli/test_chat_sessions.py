"""The chat goes from session to session: `/new`, `/agent`, `/resume`, `/compact`; and `/model` and the status line."""

import shlex
import sys
from collections.abc import Callable, Iterator

import pytest

from portico.domain.events import PromptSubmitted
from tests.support.program import PROGRAM, Portico, agent_command
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

MODELS = [
    {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small One"}, {"value": "big", "name": "Big One"}],
    }
]
Sit = Callable[..., Terminal]


@pytest.fixture
def sit(portico: Portico) -> Iterator[Sit]:
    terminals: list[Terminal] = []

    def start(*words: str) -> Terminal:
        command = (str(PROGRAM), "chat", *words)
        environ = portico.environ({"TERM": "xterm-256color"})
        terminals.append(Terminal(command, cwd=portico.workspace, environ=environ))
        terminals[-1].until("❯")
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def say(terminal: Terminal, words: str, answer: str) -> None:
    """Type a line and wait for its answer and the next prompt."""
    terminal.press(f"{words}\r")
    terminal.until(answer)
    terminal.until("❯")


def titles(portico: Portico) -> list[str]:
    return [one["title"] for one in portico.run("sessions", "list", "--api").api["sessions"]]


async def test_new_sessions_and_back_to_the_first(portico: Portico, sit: Sit) -> None:
    terminal = sit("--agent-command", portico.agent)
    say(terminal, "say one", "✓")
    say(terminal, "/new", "New session with python")
    say(terminal, "/clear", "New session with python")
    assert titles(portico)[1:] == ["say one"], "the session that was left without a prompt is gone"
    say(terminal, "say two", "✓")
    say(terminal, "/sessions", "Continue one with: /resume NUMBER")
    say(terminal, "/resume 1", "say one")
    say(terminal, "say three", "✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert titles(portico) == ["say one", "say two"]
    (first, _) = portico.run("sessions", "list", "--api").api["sessions"]
    log = await portico.log(first["sessionId"])
    prompts = [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)]
    assert prompts == ["say one", "say three"]


def test_another_agent_gets_a_session_of_its_own(portico: Portico, sit: Sit) -> None:
    words = shlex.split(portico.agent)
    portico.settings({"agents": {"second": {"command": words[0], "args": words[1:]}}})
    terminal = sit("--agent-command", portico.agent, "--mode", "proposal")
    say(terminal, "say one", "✓")
    say(terminal, "/agent", "To bring a summary along: /handoff NAME")
    say(terminal, "/agent second", "New session with second")
    say(terminal, "/agent nothere", "nothere")
    say(terminal, "say two", "✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert [one["agent"] for one in portico.run("sessions", "list", "--api").api["sessions"]] == [
        "second",
        "python",
    ]


def test_compact_goes_on_with_a_summary_where_the_agent_cannot(portico: Portico, sit: Sit) -> None:
    terminal = sit("--agent-command", portico.agent)
    say(terminal, "/compact", "There is nothing to compact yet.")
    say(terminal, "say one", "✓")
    say(terminal, "/compact", "Your next prompt includes a summary of it.")
    say(terminal, "go on", "Last answer of the agent")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert titles(portico) == ["say one", "say one"]


def test_compact_is_sent_to_an_agent_that_has_it(portico: Portico, sit: Sit) -> None:
    script = {"on_new": [{"answer": {}}, {"commands": ["compact"]}], "on_prompt": [[{"echo": {}}]]}
    terminal = sit("--agent-command", agent_command(script))
    say(terminal, "hello", "✓")
    say(terminal, "/compact", "✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert titles(portico) == ["hello"]


def test_the_model_is_chosen_and_stands_in_the_status_line(portico: Portico, sit: Sit) -> None:
    steps = [
        {"usage": {"used": 50, "size": 100, "cost": {"amount": 0.25, "currency": "USD"}}},
        {"say": "done"},
    ]
    terminal = sit(
        "--agent-command",
        agent_command({"config_options": MODELS, "on_prompt": [steps]}),
        "--mode",
        "proposal",
    )
    say(terminal, "/model", "small  (or big)")
    say(terminal, "/model big", "big  (or small)")
    terminal.until("Big One · proposal")
    say(terminal, "/model huge", "huge")
    terminal.press("hello\r")
    terminal.until("✓")
    terminal.until("50% of context · $0.25")
    terminal.press("/exit\r")
    assert terminal.end() == 0


def test_an_agent_without_models_says_so(portico: Portico, sit: Sit) -> None:
    terminal = sit("--agent-command", portico.agent)
    say(terminal, "/model", "The agent offers no choice of model.")
    terminal.press("/exit\r")
    assert terminal.end() == 0
