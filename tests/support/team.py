"""Nodes of a team: real servers with homes of their own on one database."""

import json
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.support.program import Portico, Running, agent_command
from tests.support.serving import SERVICE, Server
from tests.support.stream import Json
from tests.support.waiting import wait_until

LEASE_SECONDS = 4
START_SECONDS = 90


class TeamNode(Portico):
    """One server. Its folder is its own; `shared` is one that all nodes have."""

    def __init__(self, name: str, folder: Path, database: str, shared: Path, *flags: str) -> None:
        workspace = folder / name / "work"
        workspace.mkdir(parents=True)
        super().__init__(folder / name, workspace)
        self.name = name
        self.server = Server(self)
        self.database = database
        self._flags = ("--share", str(shared), *flags)
        command = shlex.split(agent_command(state=folder / "agent"))
        self.settings(
            {"agent": "scripted", "agents": {"scripted": {"command": command[0], "args": command[1:]}}}
        )

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {
            "PORTICO_HOME": str(self.home / "portico"),
            "PORTICO_STORE": self.database,
            "PORTICO_LEASE_SECONDS": str(LEASE_SECONDS),
        }
        return super().environ({**own, **(more or {})})

    def serve(self) -> Running:
        self.running = self.start("serve", "--node", self.name, *self._flags)
        wait_until(
            lambda: self.server.record_file.exists() and self.server.answers(),
            f"the start of {self.name}",
            seconds=START_SECONDS,
        )
        return self.running

    def kill(self) -> None:
        """As when the machine loses its power: the agents end too."""
        family = psutil.Process(self.running.pid).children(recursive=True)
        self.running.signal(signal.SIGKILL)
        for process in family:
            if process.is_running():
                process.kill()
        self.running.process.communicate(timeout=30)

    def ask(self, method: str, **request: object) -> Json:
        return self.server.ask(method, dict(request))

    def refused(self, method: str, **request: object) -> str:
        """The words of the refusal of a call."""
        replied = self.server.call(
            "POST",
            SERVICE + method,
            token=self.server.token,
            body=json.dumps(request).encode(),
            content_type="application/json",
        )
        assert replied.status != 200, replied.body
        return str(replied.json["message"])

    def begin(self, **request: object) -> str:
        """Start a session through this node; its id."""
        return str(self.ask("StartSession", **request)["session"]["summary"]["sessionId"])

    def prompt(self, session_id: str, *steps: str) -> None:
        self.ask("SubmitPrompt", sessionId=session_id, text="\n".join(steps))

    def summary(self, session_id: str) -> Json:
        found = self.ask("GetSession", sessionId=session_id)["session"]["summary"]
        assert isinstance(found, dict)
        return found

    def wait_for_state(self, session_id: str, state: str) -> None:
        wanted = f"TURN_STATE_{state.upper()}"
        wait_until(
            lambda: self.summary(session_id).get("state") == wanted,
            f"{state} of {session_id}",
            seconds=START_SECONDS,
        )

    def close(self) -> None:
        if hasattr(self, "running") and self.running.process.poll() is None:
            self.running.signal(signal.SIGCONT)
            self.running.signal(signal.SIGTERM)
            assert self.running.end().code == 0
        super().close()


OpenTeam = Callable[..., list[TeamNode]]


@pytest.fixture
def open_team(database: str, tmp_path: Path) -> Iterator[OpenTeam]:
    """Starts nodes by their names, or by names with flags."""
    nodes: list[TeamNode] = []
    shared = tmp_path / "shared"
    shared.mkdir()

    def open_team(*names: str, flags: Mapping[str, tuple[str, ...]] | None = None) -> list[TeamNode]:
        for name in names:
            node = TeamNode(name, tmp_path, database, shared, *(flags or {}).get(name, ()))
            node.serve()
            nodes.append(node)
        return nodes[-len(names) :]

    yield open_team
    for node in nodes:
        node.close()
