"""Starts the programs under measurement: with a Portico home of their own, away from the caller's settings."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from bench.report import MeasurementFailed
from portico.domain import codecs

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
PORTICO = str(Path(sys.executable).with_name("portico"))
AGENTS = ROOT / "bench" / "programs"

_LONGEST_SECONDS = 60.0

Found = TypeVar("Found")


def agent_command(name: str, *arguments: str) -> tuple[str, ...]:
    """The command of one of our agents. It stands alone, so no folder has to be its own."""
    return (PYTHON, "-P", str(AGENTS / f"{name}.py"), *arguments)


def environment(home: Path) -> dict[str, str]:
    """The caller's environment, without variables that would change how Portico starts and runs.

    An installed program has its bytecode; with PYTHONDONTWRITEBYTECODE each start would compile it again.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PORTICO_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**kept, "PORTICO_HOME": str(home)}


def timed(command: Sequence[str], *, environ: dict[str, str], cwd: Path = ROOT) -> float:
    """Duration of a program from start to end."""
    started = time.perf_counter()
    _output(command, environ, cwd)
    return time.perf_counter() - started


def timed_work(command: Sequence[str], *, environ: dict[str, str], cwd: Path = ROOT) -> tuple[float, float]:
    """Duration of a program from start to end, and its processor time with that of its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _output(command, environ, cwd)
    taken, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def found_by(program: str, *arguments: str, home: Path, result: type[Found]) -> Found:
    """JSON output of one of our programs after it measured something in its own process."""
    command = (PYTHON, "-m", f"bench.programs.{program}", *arguments)
    return codecs.decode_json(_output(command, environment(home), ROOT), result)


def _output(command: Sequence[str], environ: dict[str, str], cwd: Path) -> bytes:
    done = subprocess.run(
        command,
        env=environ,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        words = " / ".join(done.stderr.decode(errors="replace").strip().splitlines()[-5:])
        raise MeasurementFailed(f"{' '.join(command)} failed: {words or 'it said nothing'}")
    return done.stdout
