"""Markdown and terminals alone in Chromium, at their worst: one megabyte in a single block.

The whole list of cases, an answer of 5 MB among them, is measured by `node web/bench/prose.mjs`.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence

import msgspec

from bench.children import ROOT
from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico.domain import codecs
from scripts.find_browser import find

_CASES = (
    "40 KB answer",
    "1 MB in one code block",
    "1 MB in one paragraph",
    "1 MB in one list",
    "1 MB in one table",
    "1 MB of terminal output",
)
_LONGEST_SECONDS = 300.0


class _Case(msgspec.Struct, frozen=True):
    name: str
    all_ms: float
    longest_task_ms: float
    problems: Sequence[str]


class _Found(msgspec.Struct, frozen=True):
    results: Sequence[_Case]


def measure() -> Section:
    return Section(
        title="Markdown and terminals alone in Chromium, streamed",
        lines=tuple(line for case in _measured() for line in _lines(case)),
        notes=("Once each, in processor time of the page's main thread.",),
    )


def _lines(case: _Case) -> Iterator[Line]:
    if case.problems:
        raise MeasurementFailed(f"{case.name}: {case.problems[0]}")
    yield Line(what=f"{case.name}: all work", samples=Samples((case.all_ms / 1e3,)), unit="seconds")
    yield Line(
        what="  longest task",
        samples=Samples((case.longest_task_ms / 1e3,)),
        unit="seconds",
        budget=Budget("at most", 0.05),
    )


def _measured() -> Sequence[_Case]:
    node = shutil.which("node")
    if node is None or find() is None:
        raise MeasurementFailed("there is no Node or no Chromium to measure with")
    done = subprocess.run(
        (node, "bench/prose.mjs", "--json", *_CASES),
        cwd=ROOT / "web",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    try:
        return codecs.decode_json(done.stdout, _Found).results
    except msgspec.DecodeError as error:
        raise MeasurementFailed("the page of web/bench/prose.mjs did not come to its end") from error
