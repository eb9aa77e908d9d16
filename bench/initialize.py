"""How long an editor waits for an agent: from starting the program to its answer to `initialize`."""

import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.children import PORTICO, ROOT, agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import time_in_turns

ROUNDS = 7


def measure() -> Section:
    plain_command = agent_command("plain_agent")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        commands = {
            "plain": plain_command,
            "porter": (PORTICO, "agent"),
            "acp": (PORTICO, "acp", "--agent-command", shlex.join(plain_command)),
            "sdk": agent_command("sdk_agent"),
            **_node_agent(home),
        }
        found = time_in_turns({name: _waiting(command, home) for name, command in commands.items()}, ROUNDS)
    plain, porter, acp, sdk = (found[name] for name in ("plain", "porter", "acp", "sdk"))
    lines = [
        Line(what="plain Python agent, json alone", samples=plain, unit="seconds"),
        Line(what="portico agent", samples=porter, unit="seconds", budget=Budget("at most", 0.2)),
        Line(what="portico acp, plain agent", samples=acp, unit="seconds", budget=Budget("at most", 0.2)),
        Line(what="echo agent of the Python SDK", samples=sdk, unit="seconds"),
        ratio("portico agent over plain", porter, plain),
        ratio("portico agent over Python SDK", porter, sdk, Budget("at most", 1)),
        ratio("portico acp over plain", acp, plain),
        ratio("portico acp over Python SDK", acp, sdk, Budget("at most", 1)),
    ]
    if node := found.get("node"):
        lines.insert(4, Line(what="agent of the TypeScript SDK, node", samples=node, unit="seconds"))
        lines.append(ratio("portico acp over TypeScript SDK", acp, node, Budget("at most", 1)))
    return Section(title="From spawn to the answer to initialize", lines=tuple(lines))


def _node_agent(home: Path) -> dict[str, tuple[str, ...]]:
    """The peer in Node, where Node and the peer's packages are installed."""
    peers, node = ROOT / "tests" / "peers", shutil.which("node")
    if node is None or not (peers / "node_modules").is_dir():
        return {}
    return {"node": (node, str(peers / "acp_agent.mjs"), str(home))}


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
