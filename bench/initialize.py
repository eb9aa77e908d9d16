"""Time that an editor waits for an agent: from starting the program to its answer to `initialize`.

Beside Portico stand the SDKs' own agents, and every agent that Portico knows and finds on PATH.
"""

import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.children import PORTICO, ROOT, agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, time_in_turns
from portico.agents.registry import KNOWN_AGENTS

ROUNDS = 7
PLAIN, PORTER, ACP = "plain Python agent, json alone", "portico agent", "portico acp, plain agent"
_BUDGET = Budget("at most", 0.15)
_AHEAD = Budget("at most", 1)
_SCRIPT = re.compile(rb"#!.*(python|node)")


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        installed, silent = _that_answer(_installed(), home)
        peers = {**_sdk_agents(home), **installed}
        found = time_in_turns(
            {name: _waiting(command, home) for name, command in {**_ours(), **peers}.items()}, ROUNDS
        )
    return Section(
        title="From spawn to the answer to initialize",
        lines=tuple(_lines(found, peers)),
        notes=(*_notes(installed), *silent),
    )


def _lines(found: Mapping[str, Samples], peers: Mapping[str, tuple[str, ...]]) -> Iterator[Line]:
    budgets = {PORTER: _BUDGET, ACP: _BUDGET}
    for name, samples in found.items():
        yield Line(what=name, samples=samples, unit="seconds", budget=budgets.get(name))
    for what, ours in (("portico agent", PORTER), ("portico acp", ACP)):
        yield ratio(f"{what} over plain", found[ours], found[PLAIN])
    for name, command in peers.items():
        budget = _AHEAD if _is_script(command) else None
        yield ratio(f"portico acp over {name}", found[ACP], found[name], budget)


def _notes(installed: Mapping[str, object]) -> Iterator[str]:
    missing = [known.name for known in KNOWN_AGENTS if known.name not in installed]
    if missing:
        yield f"Not on PATH, or silent: {', '.join(missing)}."


def _ours() -> dict[str, tuple[str, ...]]:
    plain = agent_command("plain_agent")
    return {
        PLAIN: plain,
        PORTER: (PORTICO, "agent"),
        ACP: (PORTICO, "acp", "--agent-command", shlex.join(plain)),
    }


def _sdk_agents(home: Path) -> dict[str, tuple[str, ...]]:
    """Agents made with the SDKs; the one in Node where Node and its packages are installed."""
    agents = {"Python SDK": agent_command("sdk_agent")}
    peers, node = ROOT / "tests" / "peers", shutil.which("node")
    if node is not None and (peers / "node_modules").is_dir():
        agents["TypeScript SDK"] = (node, str(peers / "acp_agent.mjs"), str(home))
    return agents


def _installed() -> dict[str, tuple[str, ...]]:
    """Agents on PATH; none is fetched for this."""
    programs = {known: shutil.which(known.program) for known in KNOWN_AGENTS}
    return {known.name: (program, *known.args) for known, program in programs.items() if program is not None}


def _that_answer(
    agents: Mapping[str, tuple[str, ...]], home: Path
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Those that answer, and why the others have no number: that is no fault of Portico's."""
    answering, complaints = {}, []
    for name, command in agents.items():
        try:
            _wait_for(command, home)
            answering[name] = command
        except MeasurementFailed as error:
            complaints.append(f"{name}: {error}.")
    return answering, complaints


def _is_script(command: Sequence[str]) -> bool:
    """Whether a peer is in Python or Node, and so one that Portico has to be ahead of."""
    program = Path(os.path.realpath(command[0]))
    if re.match("python|node", program.name):
        return True
    with program.open("rb") as file:
        return _SCRIPT.match(file.readline(200)) is not None


def _waiting(command: Sequence[str], home: Path) -> Callable[[], float]:
    return lambda: _wait_for(command, home)


def _wait_for(command: Sequence[str], home: Path) -> float:
    started = time.perf_counter()
    with dialogue(command, environ=environment(home), cwd=home) as agent:
        answer = agent.ask("initialize", INITIALIZE)
        elapsed = time.perf_counter() - started
    if answer.get("protocolVersion") != 1:
        raise MeasurementFailed(f"{' '.join(command)} answered initialize with {answer}")
    return elapsed
