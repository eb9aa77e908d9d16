"""How long one whole command takes: `portico exec --json-stream "/help"`, and where its time goes."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.children import PORTICO, PYTHON, environment, timed
from bench.report import Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, take_turns

ROUNDS = 7


class Passage(msgspec.Struct, frozen=True):
    """When the steps of a command were reached, in seconds since it was started."""

    session_started: float
    agent_ready: float
    first_text: float
    done: float
    ended: float


def measure() -> Section:
    passages: list[Passage] = []
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        workspace.mkdir()
        environ = environment(home)

        def whole() -> float:
            passages.append(_exec(environ, workspace))
            return passages[-1].ended

        bare, command = take_turns(
            {"bare": lambda: timed((PYTHON, "-c", "pass"), environ=environ), "exec": whole}, ROUNDS
        ).values()
    counted = [msgspec.structs.astuple(passage) for passage in passages[-ROUNDS:]]
    steps = zip(
        *((now - before for before, now in zip((0.0, *times), times, strict=False)) for times in counted),
        strict=True,
    )
    names = (
        "start to session_started",
        "… to the agent's session",
        "… to the first text",
        "… to done",
        "… to the end",
    )
    return Section(
        title='End to end: portico exec --json-stream "/help"',
        lines=(
            Line(what="bare python3 -c pass", samples=bare, unit="seconds"),
            Line(what="portico exec, whole", samples=command, unit="seconds"),
            *(
                Line(what=f"  {name}", samples=Samples(step), unit="seconds")
                for name, step in zip(names, steps, strict=True)
            ),
            ratio("portico exec over bare", command, bare),
        ),
    )


def _exec(environ: dict[str, str], workspace: Path) -> Passage:
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
        process.wait()
    ended = time.perf_counter() - started
    try:
        return Passage(
            reached["session_started"], reached["ready"], reached["text_delta"], reached["done"], ended
        )
    except KeyError as error:
        raise MeasurementFailed(
            f"portico exec ended with code {process.returncode} without {error}"
        ) from error


def _step(event: dict[str, Any]) -> str:
    if event["type"] == "state_changed" and event["payload"].get("state") == "running":
        return "ready"
    kind: str = event["type"]
    return kind
