"""Reports of a run for programs: JSON and JUnit; and the file of known failures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from portico.conformance.case import STATUSES, CaseResult
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.runner import Run

_LONGEST_LINE = 2000


def run_object(run: Run, kind: str, command: Sequence[str]) -> dict[str, Any]:
    """The run as a JSON object."""
    return {
        "status": "ok" if run.conforms else "failed",
        "kind": kind,
        "command": list(command),
        "conforms": run.conforms,
        "seconds": run.seconds,
        "counts": {status: run.count(status) for status in STATUSES},
        "cases": [_case_object(result) for result in run.results],
    }


def _case_object(result: CaseResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "level": result.level,
        "status": result.status,
        "rule": result.rule,
        "source": result.source,
        "reason": result.reason,
        "seconds": result.seconds,
        "frames": [
            {
                "connection": frame.connection,
                "number": frame.number,
                "direction": frame.direction,
                "seconds": frame.seconds,
                "line": shorten_line(frame),
            }
            for frame in result.frames
        ],
    }


def write_junit(run: Run, kind: str) -> str:
    """The run as a JUnit file: advice that was not followed is skipped, so that it fails no build."""
    suite = Element("testsuite", name=f"portico conformance {kind}", time=f"{run.seconds:g}")
    suite.set("tests", str(len(run.results)))
    suite.set("failures", str(sum(result.counts_against for result in run.results)))
    for result in run.results:
        case = SubElement(
            suite,
            "testcase",
            classname=f"conformance.{kind}.{result.level}",
            name=result.id,
            time=f"{result.seconds:g}",
        )
        if result.counts_against:
            failure = SubElement(case, "failure", message=_printable(result.reason), type=result.status)
            lines = [result.rule, result.source, *(describe_frame(frame) for frame in result.frames)]
            failure.text = _printable("\n".join(lines))
        elif result.status != "passed":
            SubElement(case, "skipped", message=_printable(f"{result.status}: {result.reason}"))
    indent(suite)
    return tostring(suite, encoding="unicode") + "\n"


def describe_frame(frame: RecordedFrame) -> str:
    """A frame as one line: its number, its direction and its text."""
    arrow = "→" if frame.direction == "sent" else "←"
    return f"{frame.connection}.{frame.number} {arrow} {shorten_line(frame)}"


def shorten_line(frame: RecordedFrame) -> str:
    text = frame.text
    if len(text) <= _LONGEST_LINE:
        return text
    return f"{text[:_LONGEST_LINE]}… ({len(text):,} characters)"


def read_baseline(path: Path) -> frozenset[str]:
    """The ids of known failures, one a line; what follows # is a comment. OSError if it cannot be read."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return frozenset(line for line in lines if line)


def write_baseline(run: Run) -> str:
    """The failures of a run as a file of known failures."""
    failures = [result for result in run.results if result.status in ("failed", "blocked", "known failure")]
    return "".join(f"{result.id}  # {' '.join(result.reason.split())}\n" for result in failures)


def _printable(text: str) -> str:
    """Text without the characters that XML does not allow."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
