"""`portico agents check`, with agents that do not do what they should: it says so, and waits for none for ever."""

import shlex
import sys

import pytest

from portico.cli import agents
from portico.processes.clock import SystemClock
from portico.sessions.ports import SessionTimeouts
from tests.support.program import Portico

_SILENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": 1}}), flush=True)
"""


def test_the_list_of_agents_does_nothing_to_the_terminal(portico: Portico) -> None:
    portico.settings({"agents": {"red\x1b[31m": {"command": sys.executable, "args": ["\x1b[2J\u202e"]}}})
    listed = portico.run("agents", "list")
    assert f"{sys.executable} <U+202E>\n".encode() in listed.out
    assert b"\x1b" not in listed.out


def test_an_agent_that_never_opens_a_session_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits: list[float] = []
    wait = SystemClock.sleep

    async def over_when_a_session_is_wanted(clock: SystemClock, seconds: float) -> None:
        if seconds == SessionTimeouts().start:
            limits.append(seconds)
        if len(limits) < 2 or seconds != SessionTimeouts().start:
            await wait(clock, seconds)

    monkeypatch.setattr(SystemClock, "sleep", over_when_a_session_is_wanted)
    code = agents.run(["check", "--agent-command", shlex.join([sys.executable, "-c", _SILENT])])
    assert code == 2
    assert "did not open a session within 60 s." in capsys.readouterr().out
