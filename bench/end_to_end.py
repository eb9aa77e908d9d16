"""How long one whole command takes, and where its time goes: `portico exec --json-stream "/help"`."""

import json
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.children import PORTICO, PYTHON, environment, timed
from bench.report import Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, take_turns

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
    steps: dict[str, list[float]] = {step: [] for step in STEPS}
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        workspace.mkdir()
        environ = environment(home)

        def run() -> float:
            reached = _reached(environ, workspace)
            times = [0.0, *(reached[step] for step in STEPS)]
            for step, (before, now) in zip(STEPS, pairwise(times), strict=True):
                steps[step].append(now - before)
            return reached["ended"]

        bare, command = take_turns(
            {"bare": lambda: timed((PYTHON, "-c", "pass"), environ=environ), "exec": run}, ROUNDS
        ).values()
    parts = tuple(
        Line(what=f"  {STEPS[step]}", samples=Samples(tuple(seconds[-ROUNDS:])), unit="seconds")
        for step, seconds in steps.items()
    )
    return Section(
        title='End to end: portico exec --json-stream "/help"',
        lines=(
            Line(what="bare python3 -c pass", samples=bare, unit="seconds"),
            Line(what="portico exec, whole", samples=command, unit="seconds"),
            *parts,
            ratio("portico exec over bare", command, bare),
        ),
    )


def _reached(environ: dict[str, str], workspace: Path) -> dict[str, float]:
    """When each step was reached, in seconds since the command was started."""
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
