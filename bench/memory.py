"""Memory of Portico's processes while idle."""

import subprocess
import tempfile
from pathlib import Path

import msgspec
import psutil

from bench.children import PORTICO, PYTHON, ROOT, agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import sample, take_turns

ROUNDS = 3
_BUDGET = Budget("at most", 80e6)
_SERVER_BUDGET = Budget("at most", 50e6)


class Memory(msgspec.Struct, frozen=True):
    """Bytes of one process: all that it has in memory, and with shared pages divided by who shares them."""

    resident: int
    proportional: int


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        plain, host, server, porter = take_turns(
            {
                "plain": lambda: _plain_agent(home),
                "host": lambda: _host(home),
                "server": lambda: _server(home),
                "porter": lambda: _porter(home),
            },
            ROUNDS,
        ).values()
    return Section(
        title="Memory while idle",
        lines=(
            *_lines("plain Python agent", plain, None),
            *_lines("host, its session over, agent gone", host, _BUDGET),
            *_lines("portico serve, just started", server, _SERVER_BUDGET),
            *_lines("portico agent, one session open", porter, None),
        ),
    )


def _lines(what: str, rounds: list[Memory], budget: Budget | None) -> tuple[Line, Line]:
    resident = sample(rounds, lambda memory: memory.resident)
    proportional = sample(rounds, lambda memory: memory.proportional)
    return (
        Line(what=f"{what}: RSS", samples=resident, unit="bytes", budget=budget),
        Line(what=f"{what}: PSS", samples=proportional, unit="bytes"),
    )


def _plain_agent(home: Path) -> Memory:
    with dialogue(agent_command("plain_agent"), environ=environment(home), cwd=home) as agent:
        agent.ask("initialize", INITIALIZE)
        return _memory(agent.pid)


def _host(home: Path) -> Memory:
    command = (PYTHON, "-m", "bench.programs.idle_host")
    with dialogue(command, environ=environment(home), cwd=ROOT) as host:
        host.ask("idle", {})
        if children := psutil.Process(host.pid).children(recursive=True):
            raise MeasurementFailed(f"the idle host still has children: {children}")
        return _memory(host.pid)


def _server(home: Path) -> Memory:
    command = (PORTICO, "serve", "--api")
    with subprocess.Popen(command, env=environment(home), cwd=home, stdout=subprocess.PIPE) as server:
        try:
            if server.stdout is None or not server.stdout.readline():
                raise MeasurementFailed("portico serve did not start")
            return _memory(server.pid)
        finally:
            server.terminate()


def _porter(home: Path) -> Memory:
    with dialogue((PORTICO, "agent"), environ=environment(home), cwd=home) as agent:
        agent.ask("initialize", INITIALIZE)
        agent.ask("session/new", {"cwd": str(home), "mcpServers": []})
        return _memory(agent.pid)


def _memory(pid: int) -> Memory:
    info = psutil.Process(pid).memory_full_info()
    return Memory(info.rss, getattr(info, "pss", info.rss))
