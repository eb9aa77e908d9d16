"""Tells which folders, files and tests use the processor: `pytest -p tests.support.processor_time`.

Wall time says little on a machine that does other things too. This counts the seconds that a worker and all processes
below it have used, those that have ended included. What outlives its parent is not counted from then on. Works on
Linux only.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

_SHOWN = 25
_TICKS = os.sysconf("SC_CLK_TCK")
_PROCESSES = Path("/proc")


class ProcessorTime:
    """Measures in the workers, and adds up in the process that they report to."""

    def __init__(self) -> None:
        self._before = 0.0
        self._spent: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self._before = seconds_used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            now = seconds_used()
            report.processor_time = max(0.0, now - self._before)  # type: ignore[attr-defined]
            self._before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._spent[report.nodeid] += getattr(report, "processor_time", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor time")
        terminalreporter.line(f"{sum(self._spent.values()):8.1f} s in all")
        for title, depth in (("folders", 2), ("files", 0), ("tests", -1)):
            parts: defaultdict[str, float] = defaultdict(float)
            for test, spent in self._spent.items():
                parts[_part(test, depth)] += spent
            terminalreporter.line(f"\n{title}:")
            most = sorted(parts.items(), key=lambda part: part[1], reverse=True)
            for name, spent in most if depth > 0 else most[:_SHOWN]:
                terminalreporter.line(f"{spent:8.1f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime(), "processor-time")


def seconds_used() -> float:
    """Processor time of this process and its children so far."""
    return sum(_ticks(process) for process in _tree(os.getpid())) / _TICKS


def _tree(process: int) -> Generator[int]:
    yield process
    try:
        for thread in (_PROCESSES / str(process) / "task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _tree(int(child))
    except (FileNotFoundError, ProcessLookupError):
        return


def _ticks(process: int) -> int:
    """User and system time of a process and of its children that have ended and been waited for."""
    try:
        stat = (_PROCESSES / str(process) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(ticks) for ticks in stat.rpartition(")")[2].split()[11:15])


def _part(test: str, depth: int) -> str:
    """The folder (2), the file (0) or the whole name (-1) of a test."""
    if depth < 0:
        return test
    file = test.partition("::")[0]
    return "/".join(file.split("/")[:depth]) if depth else file
