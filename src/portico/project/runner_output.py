"""Parses the counts of passed and failed tests from the output of common test runners."""

import re

import msgspec

from portico.project.failed_tests import FailedTest, read_failed_tests

_PYTEST = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", re.MULTILINE)
_PYTEST_PART = re.compile(r"(\d+) ([a-z]+)")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*?^(OK|FAILED)(?: \((.*)\))?", re.MULTILINE | re.DOTALL)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_GO_TEST = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[)", re.MULTILINE)
_JEST = re.compile(r"^\s*Tests:?\s+((?:\d+ \w+(?:, | \| )?)+)", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped) (\d+)", re.MULTILINE)
_MOCHA = re.compile(r"^\s+(\d+) (passing|failing|pending)", re.MULTILINE)


class SuiteResult(msgspec.Struct, frozen=True):
    """Counts of tests by outcome, as far as the output has them, and the failed tests."""

    passed: int | None = None
    failed: int | None = None
    skipped: int = 0
    what: str = "test"
    failed_tests: tuple[FailedTest, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.passed is not None or self.failed is not None


def read_result(output: str) -> SuiteResult:
    failed = read_failed_tests(output)
    for reader in (_pytest, _unittest, _cargo, _node, _jest, _mocha, _go):
        result = reader(output)
        if result is not None:
            return msgspec.structs.replace(result, failed_tests=failed)
    return SuiteResult(failed_tests=failed)


def _pytest(output: str) -> SuiteResult | None:
    lines = _PYTEST.findall(output)
    if not lines:
        return None
    counts = {word: int(number) for number, word in _PYTEST_PART.findall(lines[-1])}
    errors = counts.get("error", 0) + counts.get("errors", 0)
    return SuiteResult(
        counts.get("passed", 0) + counts.get("xpassed", 0),
        counts.get("failed", 0) + errors,
        counts.get("skipped", 0) + counts.get("xfailed", 0),
    )


def _unittest(output: str) -> SuiteResult | None:
    runs = _UNITTEST.findall(output)
    if not runs:
        return None
    total, _, details = runs[-1]
    parts = {name.strip(): int(number) for name, number in re.findall(r"([a-z ]+)=(\d+)", details)}
    failed = parts.get("failures", 0) + parts.get("errors", 0) + parts.get("unexpected successes", 0)
    skipped = parts.get("skipped", 0) + parts.get("expected failures", 0)
    return SuiteResult(int(total) - failed - skipped, failed, skipped)


def _cargo(output: str) -> SuiteResult | None:
    runs = [tuple(map(int, run)) for run in _CARGO.findall(output)]
    if not runs:
        return None
    passed, failed, ignored = (sum(column) for column in zip(*runs, strict=True))
    return SuiteResult(passed, failed, ignored)


def _go(output: str) -> SuiteResult | None:
    tests = [outcome for outcome, _ in _GO_TEST.findall(output)]
    if "PASS" in tests:
        return SuiteResult(tests.count("PASS"), tests.count("FAIL"), tests.count("SKIP"))
    packages = [outcome for outcome, _ in _GO_PACKAGE.findall(output)]
    if not packages:
        return None
    return SuiteResult(packages.count("ok"), packages.count("FAIL"), what="package")


def _jest(output: str) -> SuiteResult | None:
    lines = _JEST.findall(output)
    if not lines:
        return None
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1])}
    return SuiteResult(counts.get("passed", 0), counts.get("failed", 0), counts.get("skipped", 0))


def _node(output: str) -> SuiteResult | None:
    counts = {word: int(number) for word, number in _NODE.findall(output)}
    return (
        SuiteResult(counts["pass"], counts.get("fail", 0), counts.get("skipped", 0))
        if "pass" in counts
        else None
    )


def _mocha(output: str) -> SuiteResult | None:
    counts = {word: int(number) for number, word in _MOCHA.findall(output)}
    if not counts:
        return None
    return SuiteResult(counts.get("passing", 0), counts.get("failing", 0), counts.get("pending", 0))
