"""Time of one whole command and of its parts: `portico exec --json-stream "/help"`."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench.children import PORTICO, PYTHON, environment, timed
from bench.report import Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, sample, take_turns

ROUNDS = 7
# The lines of the stream that part the command into steps, and what is going on until each of them.
STEPS = {
    "session_started": "Python, imports, the store",
    "agent_ready": "starting the agent, opening its session",
    "text_delta": "prompt to first text",
    "done": "the rest of the turn",
    "ended": "ending the agent, closing the store",
}


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        workspace.mkdir()
        environ = environment(home)
        alone, commands = take_turns(
            {
                "bare": lambda: {"ended": timed((PYTHON, "-c", "pass"), environ=environ)},
                "exec": lambda: _reached(environ, workspace),
            },
            ROUNDS,
        ).values()
    bare, whole = (sample(rounds, lambda reached: reached["ended"]) for rounds in (alone, commands))
    return Section(
        title='End to end: portico exec --json-stream "/help"',
        lines=(
            Line(what="bare python3 -c pass", samples=bare, unit="seconds"),
            Line(what="portico exec, whole", samples=whole, unit="seconds"),
            *_parts(commands),
            ratio("portico exec over bare", whole, bare),
        ),
    )


def _parts(commands: list[dict[str, float]]) -> Iterator[Line]:
    before = Samples((0.0,) * len(commands))
    for step, what in STEPS.items():
        now = sample(commands, itemgetter(step))
        yield Line(what=f"  {what}", samples=now.since(before), unit="seconds")
        before = now


def _reached(environ: dict[str, str], workspace: Path) -> dict[str, float]:
    """Time of each step, in seconds since the command was started."""
    started = time.perf_counter()
    reached: dict[str, float] = {}
    with subprocess.Popen(
        (PORTICO, "exec", "--json-stream", "/help"),
        env=environ,
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            reached.setdefault(_step(json.loads(line)), time.perf_counter() - started)
        code = process.wait()
    reached["ended"] = time.perf_counter() - started
    if code != 0 or (missing := STEPS.keys() - reached):
        raise MeasurementFailed(
            f"portico exec ended with code {code}, without {', '.join(missing) or 'fault'}"
        )
    return reached


def _step(event: dict[str, Any]) -> str:
    if event["type"] == "state_changed" and event["payload"]["state"] == "running":
        return "agent_ready"
    return str(event["type"])
