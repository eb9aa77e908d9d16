"""The counts and names of tests that runners print."""

import msgspec
import pytest

from portico.project.runner_output import SuiteResult, read_result

PYTEST = """
FAILED tests/test_a.py::test_one - assert 1 == 2
ERROR tests/test_b.py::test_two
= 1 failed, 12 passed, 2 skipped, 1 xfailed, 1 error in 3.21s =
"""
QUIET_PYTEST = "....\n4 passed in 0.01s\n"
UNITTEST = """
FAIL: test_bad (tests.test_it.TestIt.test_bad)
----------------------------------------------------------------------
Ran 5 tests in 0.001s

FAILED (failures=1, errors=1, skipped=1)
"""
CARGO = """
test tests::good ... ok
test tests::bad ... FAILED
test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
"""
GO = "ok  \texample.com/a\t0.01s\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\texample.com/b\t0.02s\nok  \texample.com/c\t(cached)\n"
VERBOSE_GO = "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\n"
JEST = "Tests:       1 failed, 2 skipped, 5 passed, 8 total\nSnapshots:   0 total\n"
VITEST = " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n"
NODE = "# tests 3\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n"
MOCHA = "\n  3 passing (10ms)\n  1 failing\n"


@pytest.mark.parametrize(
    ("output", "result", "failed"),
    [
        (PYTEST, SuiteResult(12, 2, 3), ["tests/test_a.py::test_one", "tests/test_b.py::test_two"]),
        (QUIET_PYTEST, SuiteResult(4, 0), []),
        (UNITTEST, SuiteResult(2, 2, 1), ["test_bad (tests.test_it.TestIt.test_bad)"]),
        ("Ran 1 test in 0.000s\n\nOK\n", SuiteResult(1, 0), []),
        (CARGO, SuiteResult(7, 1, 2), ["tests::bad"]),
        (GO, SuiteResult(2, 1, what="package"), ["TestBad"]),
        (VERBOSE_GO, SuiteResult(1, 1, 1), ["TestB"]),
        (JEST, SuiteResult(5, 1, 2), []),
        (VITEST, SuiteResult(2, 1), []),
        (NODE, SuiteResult(2, 1), []),
        (MOCHA, SuiteResult(3, 1), []),
        ("all is well\n", SuiteResult(), []),
        ("", SuiteResult(), []),
    ],
)
def test_counts_are_read_off_the_output_of_each_runner(
    output: str, result: SuiteResult, failed: list[str]
) -> None:
    read = read_result(output)
    assert msgspec.structs.replace(read, failed_tests=()) == result
    assert [test.name for test in read.failed_tests] == failed
