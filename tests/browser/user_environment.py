"""A user's environment: server, agents and folder. Shared between tests where that is safe."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from portico.testing import scripted_agent_command
from tests.support.frames import FrameWatch
from tests.support.processes import wait_for_death
from tests.support.program import Portico, Running
from tests.support.serving import Server
from tests.support.stream import Json
from tests.support.waiting import wait_until

ACTIVE = {"STARTING", "RUNNING", "STREAMING", "AWAITING", "RESUMING"}
COMMANDS = [
    {"name": "review", "description": "Look over the changes"},
    {"name": "release", "description": "Make a version", "input": {"hint": "which version"}},
]
MODELS = [
    {"value": "small", "name": "Small", "description": "Quick and cheap"},
    {"value": "large", "name": "Large", "description": "Thinks longer"},
]
SCRIPT: Json = {
    "on_new": [{"answer": {}}, {"commands": COMMANDS}],
    "modes": [{"id": "ask", "name": "Ask first"}, {"id": "code", "name": "Write code"}],
    "config_options": [
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "small",
            "options": MODELS,
        },
        {"id": "web", "name": "Search the web", "type": "boolean", "currentValue": False},
    ],
}
LOCKED: Json = {
    "auth_required": True,
    "auth_methods": [{"id": "browser", "name": "Sign in with a browser"}],
    "on_prompt": [[{"say": "Welcome in."}]],
}
PLAIN: Json = {"capabilities": {"loadSession": True}}
FILES = ("boats.py", "crews/captain.py", "crews/cook.py", "notes.txt")


class House(Portico):
    """One user's Portico, whose home is its own whatever test is running."""

    def __init__(self, home: Path) -> None:
        workspace = home / "harbour"
        workspace.mkdir(parents=True)
        super().__init__(home, workspace)
        self.server = Server(self)
        self.agents: dict[str, Json] = {}

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {"HOME": str(self.home), "PORTICO_HOME": str(self.home / "portico")}
        return super().environ({**own, "PORTICO_TAP": str(self.home / "tap"), **(more or {})})

    def hire(self, name: str, script: Json | None = None, **options: Any) -> None:
        """Put an agent into the settings: it does what its script says, or else what prompts say."""
        state = self.home / "agents" / name
        words = scripted_agent_command(script, state=state, **options)
        self.agents[name] = {"command": words[0], "args": list(words[1:])}
        self.settings({"agent": "scripted", "agents": self.agents})

    def open(self, *flags: str, environ: Mapping[str, str] | None = None) -> str:
        """Start the server; the link that it prints for a person."""
        running = self.start("serve", *flags, environ=environ)
        return _link(running)

    def kill(self) -> None:
        """The worst that can happen to a server; its agents die with it."""
        process = self.server.process
        process.kill()
        assert wait_for_death([process], seconds=20) == []

    def session(self, session_id: str) -> Json:
        """State of a session on the server, besides its timeline."""
        found = self.server.ask("GetSession", {"sessionId": session_id})["session"]
        assert isinstance(found, dict)
        return found

    def start_session(self, agent: str = "", **more: Any) -> str:
        detail = self.server.ask("StartSession", {"agent": agent, **more})
        return str(detail["session"]["summary"]["sessionId"])

    def talk(self, session_id: str, text: str) -> None:
        """A whole turn, as a program would have it."""
        self.server.stream("Invoke", {"sessionId": session_id, "text": text}).end()

    def quiet(self) -> None:
        """End what a test left under way: the next one works in the same folder."""
        for summary in self._busy():
            self.server.ask("StopTurn", {"sessionId": summary["sessionId"], "force": True})
        wait_until(lambda: not self._busy(), "the end of every turn")

    def reset_files(self) -> None:
        """The folder as a new house has it, whatever a failed test left there."""
        for entry in self.workspace.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        for name in FILES:
            file = self.workspace / name
            file.parent.mkdir(exist_ok=True)
            file.write_text("first\nsecond\n")

    def leave(self) -> None:
        self.server.end()
        for running in self._running:
            running.end()
        self.close()
        FrameWatch(self.home / "tap").check()

    def _busy(self) -> list[Json]:
        sessions = self.server.ask("ListSessions", {"limit": 200}).get("sessions", [])
        return [one for one in sessions if one.get("state", "").removeprefix("TURN_STATE_") in ACTIVE]


def furnish(home: Path) -> House:
    """A house with every agent that the tests know, and a few files."""
    house = House(home)
    house.hire("scripted", SCRIPT)
    house.hire("locked", LOCKED)
    house.hire("guarded", LOCKED)
    house.hire("plain", PLAIN)
    house.agents["missing"] = {"command": "no-such-agent-anywhere"}
    house.settings({"agent": "scripted", "agents": house.agents})
    house.reset_files()
    return house


def _link(running: Running) -> str:
    assert running.process.stdout is not None
    line = running.process.stdout.readline().decode()
    assert "#token=" in line, line + running.end().err
    return line.split()[-1]
