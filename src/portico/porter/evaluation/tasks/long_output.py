"""Task: find a failure in the middle of test output too long to show."""

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedStep, call, edit

_CODE = """LIMITS = {name: size for size, name in enumerate(("tiny", "small", "large", "huge"), 1)}


def limit(name):
    return LIMITS[name] * (100 if name == "large" else 10)
"""
_TEST = """import sys
import unittest

from limits import limit


class Limits(unittest.TestCase):
    def test_all(self):
        for number in range(1500):
            print(f"line {number:04} of what nobody reads, and there is a lot of it", file=sys.stderr)
            if number == 700:
                for name, expected in (("tiny", 10), ("small", 20), ("large", 30), ("huge", 40)):
                    if limit(name) != expected:
                        print(f"WRONG: {name} is {limit(name)}, not {expected}", file=sys.stderr)
        self.assertTrue(all(limit(name) < 100 for name in ("tiny", "small", "large", "huge")))
"""
_CHECK = """import unittest
from limits import limit

class Check(unittest.TestCase):
    def test_limits(self):
        self.assertEqual([limit(name) for name in ("tiny", "small", "large", "huge")], [10, 20, 30, 40])

unittest.main()
"""

TASK = EvaluationTask(
    name="long-output",
    purpose="find what matters in output that is too long to be shown",
    files={"limits.py": _CODE, "test_limits.py": _TEST},
    prompts=(f"{RUN_TESTS} fails. Its output says which limit is wrong; fix limits.py.",),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("run", command=RUN_TESTS),)),
        ScriptedStep(
            calls=(call("read_output", name="output-1", offset=36_000),),
            sees=("characters are left out here", "output-1"),
        ),
        ScriptedStep(calls=(call("read", path="limits.py"),), sees=("WRONG: large is 300, not 30",)),
        ScriptedStep(
            calls=(edit("limits.py", ('(100 if name == "large" else 10)', "10")),),
            sees=("100 if name",),
        ),
        ScriptedStep(says="“large” was ten times too large.", sees=("Changed limits.py",)),
    ),
)
