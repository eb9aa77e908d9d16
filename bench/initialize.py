"""How long an editor waits for an agent: from starting the program to its answer to `initialize`."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.children import PORTICO, agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import time_in_turns

ROUNDS = 7


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        plain, porter, sdk = time_in_turns(
            {
                "plain": lambda: _wait_for(agent_command("plain_agent"), home),
                "porter": lambda: _wait_for((PORTICO, "agent"), home),
                "sdk": lambda: _wait_for(agent_command("sdk_agent"), home),
            },
            ROUNDS,
        ).values()
    return Section(
        title="From spawn to the answer to initialize",
        lines=(
            Line(what="plain Python agent, json alone", samples=plain, unit="seconds"),
            Line(what="portico agent", samples=porter, unit="seconds", budget=Budget("at most", 0.2)),
            Line(what="echo agent of the Python SDK", samples=sdk, unit="seconds"),
            ratio("portico agent over plain", porter, plain),
            ratio("portico agent over SDK", porter, sdk, Budget("at most", 1)),
        ),
    )


def _wait_for(command: Sequence[str], home: Path) -> float:
    started = time.perf_counter()
    with dialogue(command, environ=environment(home), cwd=home) as agent:
        answer = agent.ask("initialize", INITIALIZE)
        elapsed = time.perf_counter() - started
    if answer.get("protocolVersion") != 1:
        raise MeasurementFailed(f"{' '.join(command)} answered initialize with {answer}")
    return elapsed
