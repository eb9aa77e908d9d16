"""The agent of `speaking_agent.py`, hired in a Portico home, and what it says afterwards of its own time."""

import json
import time
from pathlib import Path

import msgspec

from bench.children import agent_command
from bench.report import MeasurementFailed
from portico.domain import codecs

AGENT = "speaking"
_PATIENCE = 10.0
_LOOK_AGAIN = 0.01


class Spoken(msgspec.Struct, frozen=True):
    """Times of the agent's first and last delta, in seconds since 1970."""

    started: float
    ended: float


class Speaker:
    def __init__(self, home: Path, file: Path) -> None:
        """Hire it as the agent that sessions begin with. It writes into the file when it spoke."""
        self._file = file
        command, *arguments = agent_command("speaking_agent", str(file))
        config = home / "config"
        config.mkdir(parents=True)
        agents = {AGENT: {"command": command, "args": arguments}}
        (config / "settings.json").write_text(json.dumps({"agent": AGENT, "agents": agents}))

    def begin(self) -> None:
        """Forget what it said of an earlier answer."""
        self._file.unlink(missing_ok=True)

    def spoken(self) -> Spoken:
        """Begin and end of its answer, which has been seen already."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._file.is_file() and (text := self._file.read_text()):
                return codecs.decode_json(text, Spoken)
            time.sleep(_LOOK_AGAIN)
        raise MeasurementFailed("the agent did not say when it spoke")
