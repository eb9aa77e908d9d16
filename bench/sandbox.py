"""Cost of a sandbox: for the start of an agent, its messages, and a command that opens many files."""

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.children import PORTICO, agent_command, environment
from bench.dialogue import INITIALIZE, dialogue
from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, time_in_turns
from portico.agents.sandbox_policy import SandboxPolicy
from portico.sandbox import backends
from portico.sessions.ports import AgentSpec

ROUNDS = 7
MESSAGES = 500
NONE = "no sandbox"
_LAUNCHED, _CONFINED = "portico acp, no sandbox", "portico acp, sandbox"
_START = Budget("at most", 2)
_TURN = Budget("at most", 1.25)
_IMPORTS = "import asyncio, email, http.client, json, unittest, xml.dom"


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        workspace = home / "workspace"
        workspace.mkdir()
        wrappers = {NONE: (), **_wrappers(home, workspace)}
        if len(wrappers) == 1:
            raise MeasurementFailed("no sandbox works on this machine; see: portico doctor")
        turns: dict[str, Callable[[], float]] = {}
        for name, wrapper in wrappers.items():
            turns |= _contenders(name, wrapper, home, workspace)
        turns |= {name: _opening(name, home, workspace) for name in (_LAUNCHED, _CONFINED)}
        found = time_in_turns(turns, ROUNDS)
    return Section(
        title="What a sandbox adds", lines=tuple(_lines(found, [*wrappers][1:])), notes=tuple(_notes())
    )


def _wrappers(home: Path, workspace: Path) -> dict[str, tuple[str, ...]]:
    """The words of each backend that works here, as an agent in proposal mode would get them."""
    found = {}
    every = backends.BACKENDS
    for backend in every:
        if backends.probe_backend(backend, offline=False) is None:
            backends.BACKENDS = (backend,)
            spec = AgentSpec(name="plain", command=agent_command("plain_agent"))
            confined = SandboxPolicy(environment(home)).confine(
                spec, home / "real", workspace, reads_only=False
            )
            found[backend.name] = confined.wrapper
    backends.BACKENDS = every
    return found


def _contenders(
    name: str, wrapper: tuple[str, ...], home: Path, workspace: Path
) -> dict[str, Callable[[], float]]:
    environ = environment(home)
    command = (*wrapper, *agent_command("plain_agent"))

    def start() -> float:
        started = time.perf_counter()
        with dialogue(command, environ=environ, cwd=workspace) as agent:
            agent.ask("initialize", INITIALIZE)
            return time.perf_counter() - started

    def turn() -> float:
        with dialogue(command, environ=environ, cwd=workspace) as agent:
            agent.ask("initialize", INITIALIZE)
            started = time.perf_counter()
            for number in range(MESSAGES):
                agent.ask("echo", {"number": number})
            return time.perf_counter() - started

    def files() -> float:
        started = time.perf_counter()
        words = (*wrapper, "/bin/sh", "-c", f"for _ in 1 2 3; do {sys.executable} -c '{_IMPORTS}'; done")
        subprocess.run(words, env=environ, cwd=workspace, check=True, timeout=60)
        return time.perf_counter() - started

    return {_start(name): start, _turn(name): turn, _files(name): files}


def _opening(name: str, home: Path, workspace: Path) -> Callable[[], float]:
    level = "none" if name == _LAUNCHED else "workspace"
    agent = shlex.join(agent_command("plain_agent"))
    command = (PORTICO, "acp", "--sandbox", level, "--agent-command", agent)

    def start() -> float:
        started = time.perf_counter()
        with dialogue(command, environ=environment(home), cwd=workspace) as agent:
            agent.ask("initialize", INITIALIZE)
            return time.perf_counter() - started

    return start


def _lines(found: Mapping[str, Samples], backends: list[str]) -> Iterator[Line]:
    for name, samples in found.items():
        yield Line(what=name, samples=samples, unit="seconds")
    for name in backends:
        # Sandlock is for machines where nothing else works, and for lists of hosts.
        first = name == backends[0]
        yield ratio(
            f"start in {name} over none", found[_start(name)], found[_start(NONE)], _START if first else None
        )
        yield ratio(
            f"messages in {name} over none", found[_turn(name)], found[_turn(NONE)], _TURN if first else None
        )
        yield ratio(
            f"files in {name} over none", found[_files(name)], found[_files(NONE)], _TURN if first else None
        )
    yield ratio("portico acp with a sandbox over without", found[_CONFINED], found[_LAUNCHED], _START)


def _notes() -> Iterator[str]:
    yield "Many files: three programs that import a part of the standard library, one after the other."
    yield "portico acp tries the sandbox before it uses it, once in each process."


def _start(name: str) -> str:
    return f"spawn to initialize, {name}"


def _turn(name: str) -> str:
    return f"{MESSAGES} round trips, {name}"


def _files(name: str) -> str:
    return f"many files, {name}"
