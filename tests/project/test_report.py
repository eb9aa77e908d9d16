"""Output of compilers, linters and test runners becomes problems and failed tests, each with file, line and message.

The outputs are those of the real tools, shortened.
"""

from pathlib import Path

import msgspec
import pytest

from portico.project.report import read_report

ROOT = Path("/work/demo")

CARGO = msgspec.json.encode(
    {
        "reason": "compiler-message",
        "message": {
            "rendered": "error[E0308]: mismatched types\n --> src/lib.rs:1:32\n",
            "level": "error",
            "message": "mismatched types",
            "code": {"code": "E0308", "explanation": "…"},
            "spans": [
                {"file_name": "src/other.rs", "is_primary": False, "line_start": 9, "column_start": 9},
                {"file_name": "src/lib.rs", "is_primary": True, "line_start": 1, "column_start": 32},
            ],
        },
    }
).decode()
CARGO_TEST = """\
test tests::fine ... ok
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (19979) panicked at src/lib.rs:5:17:
assertion `left == right` failed
  left: 2
 right: 3
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.11s
"""
GO_TEST = """\
{"Action":"start","Package":"demo"}
{"Action":"output","Package":"demo","Test":"TestG","Output":"=== RUN   TestG\\n"}
{"Action":"output","Package":"demo/deep","Test":"TestG/sub","Output":"    a_test.go:4: no\\n"}
{"Action":"output","Package":"demo/deep","Test":"TestG/sub","Output":"--- FAIL: TestG/sub (0.00s)\\n"}
{"Action":"fail","Package":"demo/deep","Test":"TestG/sub","Elapsed":0}
{"Action":"fail","Package":"demo/deep","Test":"TestG","Elapsed":0}
{"Action":"pass","Package":"demo","Test":"TestOk","Elapsed":0}
{"Action":"skip","Package":"demo","Test":"TestLater","Elapsed":0}
"""
GO_BUILD = """\
{"ImportPath":"demo","Action":"build-output","Output":"# demo\\n"}
{"ImportPath":"demo","Action":"build-output","Output":"./a.go:3:25: cannot use \\"x\\" as int value in return statement\\n"}
{"ImportPath":"demo","Action":"build-fail"}
"""
ESLINT = '[{"filePath":"/work/demo/b.js","messages":[{"ruleId":"no-unused-vars","severity":2,"message":"\'y\' is never used.","line":1,"column":7},{"ruleId":null,"severity":1,"message":"Odd.","line":2,"column":1}]}]'
RUFF = '{"cell":null,"code":"F401","filename":"/work/demo/a.py","location":{"column":8,"row":1},"message":"`os` imported but unused"}'
PYTEST = """\
=================================== FAILURES ===================================
___________________________________ test_bad ___________________________________

    def test_bad():
>       assert helper() == 2, "one is not two"
E       AssertionError: one is not two

tests/test_it.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_it.py::test_bad - AssertionError: one is not two
========================= 1 failed, 2 passed in 0.02s ==========================
"""
UNITTEST = """\
======================================================================
FAIL: test_bad (tests.test_it.TestIt.test_bad)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work/demo/tests/test_it.py", line 5, in test_bad
    self.assertEqual(1, 2)
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
JUNIT = b"""\
<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="3">
<testcase classname="tests.test_it" name="test_bad" time="0.0"><failure message="AssertionError: one is not two">def test_bad():
&gt;       assert helper() == 2
tests/helpers.py:3: in helper
tests/test_it.py:12: AssertionError</failure></testcase>
<testcase classname="tests.test_it" name="test_later"><skipped message="later" /></testcase>
<testcase classname="tests.test_it" name="test_good" /></testsuite></testsuites>
"""
SUREFIRE = b"""\
<testsuite name="ATest"><testcase name="bad" classname="ATest"><failure message="expected:&lt;2&gt; but was:&lt;1&gt;">
java.lang.AssertionError: expected:&lt;2&gt; but was:&lt;1&gt;
\tat org.junit.Assert.fail(Assert.java:89)
\tat ATest.bad(ATest.java:3)
</failure></testcase></testsuite>
"""


@pytest.mark.parametrize(
    ("output", "problems"),
    [
        (CARGO, ["src/lib.rs:1:32 error [E0308]: mismatched types"]),
        (GO_BUILD, ['a.go:3:25 error: cannot use "x" as int value in return statement']),
        ("vet: ./a.go:3:25: cannot use it", ["a.go:3:25 error: cannot use it"]),
        (ESLINT, ["b.js:1:7 error [no-unused-vars]: 'y' is never used.", "b.js:2:1 warning: Odd."]),
        (RUFF, ["a.py:1:8 error [F401]: `os` imported but unused"]),
        (
            "a.ts(1,7): error TS2322: Type 'string' is not assignable.",
            ["a.ts:1:7 error [TS2322]: Type 'string' is not assignable."],
        ),
        (
            "[ERROR] /work/demo/src/A.java:[1,35] incompatible types\n" * 2,
            ["src/A.java:1:35 error: incompatible types"],
        ),
        (
            "a.c:1:20: error: ‘x’ undeclared\na.c:1:20: note: each is reported once",
            ["a.c:1:20 error: ‘x’ undeclared"],
        ),
        (
            "b.py:3:1: warning: odd\na.py:1: error: wrong  [x]",
            ["a.py:1 error: wrong [x]", "b.py:3:1 warning: odd"],
        ),
        ("\x1b[31ma.c:2:1: error: red\x1b[0m", ["a.c:2:1 error: red"]),
        ("see https://example.org:80/a.b:1:2\n12:30:05: started\n{broken\n[1, 2]\n", []),
    ],
)
def test_problems_have_a_place_and_a_message(output: str, problems: list[str]) -> None:
    assert list(map(str, read_report(output, ROOT).problems)) == problems


@pytest.mark.parametrize(
    ("output", "failed", "counts"),
    [
        (
            CARGO_TEST,
            ("tests::adds", "src/lib.rs", 5, "assertion `left == right` failed left: 2 right: 3"),
            (1, 1, 0),
        ),
        (GO_TEST, ("demo/deep.TestG/sub", "deep/a_test.go", 4, "no"), (1, 2, 1)),
        (
            PYTEST,
            ("tests/test_it.py::test_bad", "tests/test_it.py", 12, "AssertionError: one is not two"),
            (2, 1, 0),
        ),
        (
            UNITTEST,
            (
                "test_bad (tests.test_it.TestIt.test_bad)",
                "/work/demo/tests/test_it.py",
                5,
                "AssertionError: 1 != 2",
            ),
            (1, 1, 0),
        ),
    ],
)
def test_failed_tests_have_a_place_and_a_message(
    output: str, failed: tuple[object, ...], counts: tuple[int, int, int]
) -> None:
    report = read_report(output, ROOT, module="demo")
    assert [msgspec.structs.astuple(test) for test in report.failed] == [failed]
    assert (report.result.passed, report.result.failed, report.result.skipped) == counts
    assert report.problems == ()


def test_a_report_in_xml_goes_before_the_text() -> None:
    report = read_report("= 9 passed in 1s =", ROOT, [JUNIT])
    assert [msgspec.structs.astuple(test) for test in report.failed] == [
        ("tests.test_it.test_bad", "tests/test_it.py", 12, "AssertionError: one is not two")
    ]
    assert (report.result.passed, report.result.failed, report.result.skipped) == (1, 1, 1)
    (java,) = read_report("", ROOT, [SUREFIRE]).failed
    assert (java.path, java.line) == ("ATest.java", 3)


def test_a_module_that_cannot_be_imported_fails_with_the_reason() -> None:
    text = (
        "orders.py:1: in &lt;module&gt;\n    from customers import Customer\n"
        "E   ImportError: cannot import name 'Order' from 'orders'\n"
    )
    data = f'<testsuite><testcase classname="" name="test_orders"><error message="collection failure">{text}</error></testcase></testsuite>'
    (failed,) = read_report("", ROOT, [data.encode()]).failed
    assert (failed.path, failed.line) == ("orders.py", 1)
    assert failed.message == "ImportError: cannot import name 'Order' from 'orders'"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuite>",
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><testsuite><testcase name="&a;"><failure/></testcase></testsuite>',
    ],
)
def test_an_xml_report_that_cannot_be_trusted_is_left_out(data: bytes) -> None:
    assert read_report(PYTEST, ROOT, [data]).result.failed == 1


def test_json_is_shown_as_people_read_it() -> None:
    assert read_report(f"   Compiling demo\n{CARGO}", ROOT).text == (
        "   Compiling demo\nerror[E0308]: mismatched types\n --> src/lib.rs:1:32"
    )
    assert "    a_test.go:4: no\n--- FAIL: TestG/sub" in read_report(GO_TEST, ROOT).text
