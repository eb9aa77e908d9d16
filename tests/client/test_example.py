"""The example of a client script runs as it is printed in the documentation."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.serving import Server

SCRIPT = Path(__file__).parents[2] / "examples" / "client_script.py"


@pytest.mark.skipif(sys.platform == "win32", reason="the server's fixture is POSIX")
def test_the_client_script_prompts_asks_and_applies(portico: Portico) -> None:
    words = shlex.split(portico.agent)
    portico.settings({"agent": "scripted", "agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    server = Server(portico)
    path = str(portico.workspace / "a.txt")
    steps = [
        {"say": "Hello."},
        {"permission": {"title": "go on", "options": ["allow_once", "reject_once"]}},
        {"write": {"path": path, "content": "1\n"}},
    ]
    try:
        done = subprocess.run(
            [sys.executable, SCRIPT, json.dumps(steps)],
            cwd=portico.workspace,
            env=portico.environ(),
            input="y\ny\n",
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    finally:
        server.end()
    assert done.stderr == ""
    assert done.returncode == 0
    assert "Hello." in done.stdout
    assert "applied: a.txt" in done.stdout
    assert (portico.workspace / "a.txt").read_text() == "1\n"


def test_the_client_script_is_short() -> None:
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) < 60
