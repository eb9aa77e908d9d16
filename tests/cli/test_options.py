"""Options of an agent from the command line and in a chat, and that they hold."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portico.testing import read_transcript
from tests.support.program import PROGRAM, Portico, agent_command
from tests.support.stream import Json
from tests.support.terminal import Terminal

OPTIONS: Json = {
    "modes": ["ask", "code"],
    "config_options": [
        {
            "type": "select",
            "id": "llm",
            "name": "Model",
            "category": "model",
            "currentValue": "small",
            "options": [{"value": "small", "name": "Small one"}, {"value": "big", "name": "Big one"}],
        },
        {"type": "boolean", "id": "web", "name": "Web search", "currentValue": False},
    ],
}
FORGETFUL: Json = {**OPTIONS, "capabilities": {}}


def sent(transcript: Path) -> list[object]:
    """Options that the agent received, in order."""
    received = [line.message for line in read_transcript(transcript) if line.direction == "received"]
    values = {"session/set_mode": "modeId", "session/set_config_option": "value"}
    return [
        message["params"][values[message["method"]]]
        for message in received
        if message.get("method") in values
    ]


@pytest.fixture
def transcript(portico: Portico) -> Path:
    return portico.home / "transcript"


@pytest.fixture
def flags(portico: Portico, transcript: Path) -> tuple[str, str]:
    """An agent with options that it forgets when its process ends."""
    return "--agent-command", agent_command(FORGETFUL, transcript=transcript)


def test_options_are_set_before_the_prompt(
    portico: Portico, transcript: Path, flags: tuple[str, str]
) -> None:
    words = ("--option", "mode=code", "--option", "web=on", "--model", "Big One")
    stream = portico.exec("say hi", *flags, *words).stream
    assert stream.answer == "hi"
    assert sent(transcript) == ["big", "code", True]
    config = stream.all("config_updated")[-1]
    assert {option["optionId"]: option["value"] for option in config["options"]} == {
        "llm": "big",
        "web": True,
        "mode": "code",
    }
    assert config["chosen"] == ["llm", "mode", "web"]


@pytest.mark.parametrize(
    ("word", "code", "words"),
    [
        ("colour=red", 5, "llm (small, big); web (on, off); mode (ask, code)"),
        ("mode=sleep", 5, "Available: ask, code"),
        ("web=maybe", 5, "on or off"),
        ("mode", 5, "NAME=VALUE"),
        ("=code", 5, "NAME=VALUE"),
    ],
)
def test_an_option_that_there_is_not_is_answered_with_what_there_is(
    portico: Portico, flags: tuple[str, str], word: str, code: int, words: str
) -> None:
    ran = portico.run("exec", "--api", *flags, "--option", word, "hello")
    assert ran.code == code
    assert words in f"{ran.api['error']} {ran.api['diagnostics']['suggestion']}"


def test_what_was_chosen_holds_in_the_next_process(
    portico: Portico, transcript: Path, flags: tuple[str, str]
) -> None:
    first = portico.exec("say hi", *flags, "--option", "mode=code", "--option", "web=on").stream
    transcript.unlink()
    stream = portico.exec("say again", "--session", first.session_id, *flags).stream
    assert sent(transcript) == ["code", True]
    assert "again" in stream.answer


def test_what_was_chosen_survives_a_crash(portico: Portico, transcript: Path) -> None:
    script = {
        **FORGETFUL,
        "on_prompt": [[{"once": {"mark": "crashed", "steps": [{"crash": {}}]}}, {"say": "hi"}]],
    }
    flags = ("--agent-command", agent_command(script, transcript=transcript))
    crashed = portico.exec("one", *flags, "--option", "mode=code").stream
    stream = portico.exec("two", "--session", crashed.session_id, *flags).stream
    assert stream.answer == "hi"
    assert sent(transcript) == ["code", "code"]


def test_a_refusal_to_take_it_again_is_told(portico: Portico) -> None:
    refusal = [{"error": {"code": -32603, "message": "not today"}}]
    willing = agent_command(FORGETFUL)
    first = portico.exec("say hi", "--agent-command", willing, "--option", "mode=code").stream
    unwilling = agent_command({**FORGETFUL, "on_set_mode": refusal})
    stream = portico.exec("say hi", "--session", first.session_id, "--agent-command", unwilling).stream
    assert "The agent did not accept mode = code again: not today" in stream.notices
    assert stream.result["state"] == "completed"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
class TestInAChat:
    @pytest.fixture
    def chat(self, portico: Portico, flags: tuple[str, str]) -> Iterator[Callable[..., Terminal]]:
        terminals: list[Terminal] = []

        def sit(*words: str) -> Terminal:
            command = (str(PROGRAM), "chat", *flags, *words)
            environ = portico.environ({"TERM": "xterm-256color"})
            terminals.append(Terminal(command, cwd=portico.workspace, environ=environ))
            terminals[-1].until("❯")
            return terminals[-1]

        yield sit
        for terminal in terminals:
            terminal.close()

    def test_options_are_seen_and_set(self, chat: Callable[..., Terminal], transcript: Path) -> None:
        terminal = chat()
        terminal.press("/options\r")
        terminal.until("llm   small  (or big)")
        terminal.until("mode  ask  (or code)")
        terminal.until("❯")
        terminal.press("/options mode code\r")
        terminal.until("mode  code  (or ask)")
        terminal.until("❯")
        terminal.press("/options web=on\r")
        terminal.until("web   on  (or off)")
        terminal.until("❯")
        terminal.press("/options mode sleep\r")
        terminal.until("Available: ask, code")
        terminal.until("❯")
        terminal.press("/options mode\r")
        terminal.until("needs a value")
        terminal.until("❯")
        terminal.press("say hi\r")
        terminal.until("✓")
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
        assert sent(transcript) == ["code", True]

    def test_components_are_seen_and_switched_for_the_session(self, chat: Callable[..., Terminal]) -> None:
        terminal = chat()
        terminal.press("/components\r")
        terminal.until("memory        off     notes that agents keep")
        terminal.until("❯")
        terminal.press("/components memory on\r")
        terminal.until("(this session)")
        terminal.until("It is on from the next prompt on.")
        terminal.until("❯")
        terminal.press("/components memory\r")
        terminal.until("needs on or off")
        terminal.until("❯")
        terminal.press("/components nosuch on\r")
        terminal.until('Unknown component "nosuch"')
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0

    def test_flags_hold_until_something_else_is_said(
        self, chat: Callable[..., Terminal], transcript: Path
    ) -> None:
        terminal = chat("--option", "mode=code")
        for words in ("say one\r", "/options mode ask\r", "say two\r"):
            terminal.press(words)
            terminal.until("✓" if words.startswith("say") else "mode  ask")
            terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
        assert sent(transcript) == ["code", "ask"]
