"""Time of the quickest command, compared with the interpreter alone."""

import tempfile
from pathlib import Path

from bench.children import PORTICO, PYTHON, environment, timed
from bench.report import Budget, Line, Section, ratio
from bench.samples import time_in_turns

ROUNDS = 40


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        environ = environment(Path(folder))
        bare, version = time_in_turns(
            {
                "bare": lambda: timed((PYTHON, "-c", "pass"), environ=environ),
                "version": lambda: timed((PORTICO, "version", "--api"), environ=environ),
            },
            ROUNDS,
        ).values()
    return Section(
        title="Start-up",
        lines=(
            Line(what="bare python3 -c pass", samples=bare, unit="seconds"),
            Line(what="portico version --api", samples=version, unit="seconds"),
            ratio("portico over bare", version, bare, Budget("at most", 2)),
        ),
        notes=(f"Both use {PYTHON}; the python3 on PATH may be another, or a slow shim.",),
    )
