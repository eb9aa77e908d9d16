"""The report of a check, build or test run: problems, failed tests and counts, read from what the tools wrote.

Tools are asked for JSON or JUnit where they have it; what they print for people is understood as well, since a script
of npm or a target of make may run any of them.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from portico.project.failed_tests import FailedTest, go_failure, join_message, pytest_place
from portico.project.plain_text import plain_text
from portico.project.problems import ProjectProblem, cargo_text, decode_line, read_problems
from portico.project.runner_output import SuiteResult, read_result

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_COLLECTION_FAILURE = "collection failure"
"""The message of pytest for a module that cannot be imported. The reason is in the text."""
_PYTEST_ERROR = re.compile(r"^E +(.+)", re.MULTILINE)
_JAVA_FRAME = re.compile(r"\bat ([\w.$]+)\((\w+\.(?:java|kt)):(\d+)\)")


class RunReport(msgspec.Struct, frozen=True):
    """`text` is the output as people read it, without JSON."""

    text: str
    problems: tuple[ProjectProblem, ...]
    failed: tuple[FailedTest, ...]
    result: SuiteResult


def read_report(output: str, root: Path, junit: Sequence[bytes] = (), module: str = "") -> RunReport:
    """Read what a run wrote. `junit` are its XML reports; `module` is the name of a Go module."""
    text, events = _readable(plain_text(output).split("\n"))
    # Go puts what its compiler prints into events; cargo's JSON says more than its text.
    problems = read_problems((text if events else plain_text(output)).split("\n"), root)
    cases = [case for data in junit for case in _read_junit(data)]
    if cases:
        failed = tuple(case.failure for case in cases if case.failure is not None)
        skipped = sum(case.skipped for case in cases)
        return RunReport(
            text, problems, failed, SuiteResult(len(cases) - len(failed) - skipped, len(failed), skipped)
        )
    if events:
        failed, result = _read_go(events, module)
        return RunReport(text, problems, failed, result)
    result = read_result(text)
    return RunReport(text, problems, result.failed_tests, result)


class _Case(msgspec.Struct, frozen=True):
    failure: FailedTest | None
    skipped: bool


def _read_junit(data: bytes) -> list[_Case]:
    """The tests of a JUnit report; none if it is not one, or declares entities, which could make it endless."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return []
    # Late: every session offers the tools, and few run a test.
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError):
        return []
    return [_case(element) for element in root.iter("testcase")]


def _case(element: "Element") -> _Case:
    parts = {part.tag: part for part in element}
    found = parts.get("failure", parts.get("error"))
    if found is None:
        return _Case(None, "skipped" in parts)
    text = found.text or ""
    path, line = pytest_place(text)
    for method, file, number in _JAVA_FRAME.findall(text):
        # The frames before it are those of the library that compares.
        if method.startswith(f"{element.get('classname')}."):
            path, line = file, int(number)
            break
    name = ".".join(filter(None, (element.get("classname"), element.get("name"))))
    message = found.get("message") or text
    if message == _COLLECTION_FAILURE:
        message = " ".join(_PYTEST_ERROR.findall(text)) or text
    message = join_message(message)
    return _Case(FailedTest(name, path or element.get("file") or "", line, message), skipped=False)


def _readable(lines: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """The output as people read it, and the events of `go test -json` that were in it."""
    shown: list[str] = []
    events: list[dict[str, Any]] = []
    pending = ""
    for line in lines:
        value = decode_line(line)
        if isinstance(value, dict) and isinstance(value.get("Action"), str):
            events.append(value)
            pending += str(value.get("Output") or "")
            *whole, pending = pending.split("\n")
            shown += whole
        elif (rendered := cargo_text(value)) is not None:
            shown += rendered.rstrip("\n").split("\n") if rendered else []
        else:
            shown.append(line)
    return "\n".join([*shown, *filter(None, [pending])]), events


def _read_go(events: Sequence[dict[str, Any]], module: str) -> tuple[tuple[FailedTest, ...], SuiteResult]:
    printed: dict[tuple[str, str], str] = {}
    ended: dict[tuple[str, str], str] = {}
    for event in events:
        key = (str(event.get("Package", "")), str(event.get("Test", "")))
        if not key[1]:
            continue
        if event["Action"] == "output":
            printed[key] = printed.get(key, "") + str(event.get("Output", ""))
        elif event["Action"] in ("pass", "fail", "skip"):
            ended[key] = event["Action"]
    failed = []
    broken = [key for key, outcome in ended.items() if outcome == "fail"]
    for package, test in broken:
        # A test fails with its subtests, which say why.
        if not any(one == package and other.startswith(f"{test}/") for one, other in broken):
            text, folder = printed.get((package, test), ""), _go_folder(package, module)
            failed.append(go_failure(f"{package}.{test}", text, folder))
    outcomes = list(ended.values())
    result = SuiteResult(outcomes.count("pass"), outcomes.count("fail"), outcomes.count("skip"))
    return tuple(failed), result


def _go_folder(package: str, module: str) -> str:
    inner = package.removeprefix(module).strip("/") if module and package.startswith(module) else ""
    return f"{inner}/" if inner else ""
