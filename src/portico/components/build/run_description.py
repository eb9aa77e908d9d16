"""The text of a run for a model: how it ended, failed tests, problems, and where the whole output is."""

from collections.abc import Iterable

import msgspec

from portico.components.build.client_terminal import FinishedCommand
from portico.project.build_commands import ProjectTask
from portico.project.failed_tests import FailedTest
from portico.project.folder import ProjectCommand
from portico.project.report import RunReport
from portico.project.verdict import verdict

MOST_LISTED = 50
_TAIL_LINES = 30


class FinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a session. `number` counts from 1."""

    number: int
    task: ProjectTask
    command: ProjectCommand
    ended: FinishedCommand
    report: RunReport


def describe_run(run: FinishedRun, others: Iterable[str]) -> str:
    """`others` are the names of other tools that could do the same."""
    report = run.report
    lines = [f"{_verdict(run)} ({run.command}, {run.ended.ending})."]
    lines += _list("Failed tests:", [_test(test) for test in report.failed])
    lines += _list("Problems:", list(map(str, report.problems)))
    output = report.text.strip("\n").split("\n")
    if not run.ended.succeeded and not report.failed and not report.problems:
        lines += ["The end of its output:", *output[-_TAIL_LINES:]]
    cut = " Its beginning was cut off." if run.ended.truncated else ""
    lines.append(f"The output has {len(output)} lines; read it with output, run={run.number}.{cut}")
    if named := ", ".join(others):
        lines.append(f"Other tools for this here: {named}.")
    return "\n".join(lines)


def _verdict(run: FinishedRun) -> str:
    counted = run.report.result
    words = verdict(run.task, succeeded=run.ended.succeeded)
    if run.task != "test" or not counted.is_known:
        return words
    skipped = f", {counted.skipped} skipped" if counted.skipped else ""
    return f"{words}: {counted.passed or 0} {counted.what}s passed, {counted.failed or 0} failed{skipped}"


def _test(test: FailedTest) -> str:
    place = f" at {test.path}:{test.line}" if test.path and test.line else ""
    return f"{test.name}{place}" + (f": {test.message}" if test.message else "")


def _list(heading: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    more = [f"- and {len(entries) - MOST_LISTED} more"] if len(entries) > MOST_LISTED else []
    return [heading, *(f"- {entry}" for entry in entries[:MOST_LISTED]), *more]
