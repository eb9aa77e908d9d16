"""Align first in the terminal: a foreign agent changes nothing before a person at a terminal says yes."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.program import PROGRAM, Portico
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
AGENT = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.peers.tool_calling_agent"])
ALIGN = ["call", "portico-alignment", "align", {"understanding": "You want a longer rope."}]
WRITE = ["write", "rope.txt", "long\n"]
FLAGS = ("--agent-command", AGENT, "--component", "align-first")


def test_without_a_person_nothing_is_changed_whatever_rules_allow(portico: Portico) -> None:
    deeds = json.dumps([WRITE, ALIGN, WRITE])
    stream = portico.exec(deeds, *FLAGS, "--allow", "all").stream
    assert "The person did not agree." in stream.answer
    assert stream.answer.count("not written: Not before the person agrees") == 2
    refused = f"Not before your yes: Write {portico.workspace / 'rope.txt'}"
    assert [one["title"] for one in stream.all("tool_started")] == [refused] * 2
    assert stream.only("question_answered")["by"] == "nobody"
    assert not (portico.workspace / "rope.txt").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_person_in_a_chat_agrees_and_the_change_is_made(portico: Portico) -> None:
    environ = portico.environ({"TERM": "xterm-256color"})
    command = (PROGRAM, "chat", "--agent-command", AGENT)
    terminal = Terminal(command, cwd=portico.workspace, environ=environ)
    terminal.until("❯")
    terminal.press("/components align-first on\r")
    terminal.until("It is on from the next prompt on.")
    terminal.until("❯")
    terminal.press(f"{json.dumps([ALIGN, WRITE])}\r")
    terminal.until("You want a longer rope.")
    terminal.until("Yes, go ahead")
    terminal.until("Is that right?")
    assert not (portico.workspace / "rope.txt").exists()
    terminal.press("1\r")
    terminal.until("Comment")
    terminal.press("\r")
    terminal.until("The person agrees. Go ahead.")
    terminal.until("❯")
    assert (portico.workspace / "rope.txt").read_text() == "long\n"
    terminal.press("/exit\r")
    assert terminal.end() == 0
    terminal.close()
