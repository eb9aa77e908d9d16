"""Task: implement a function as its docstring describes."""

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedStep, call, edit

_CODE = '''def parse_duration(text: str) -> int:
    """Seconds of a duration such as "90s", "5m", "1h30m" or "2d". ValueError for anything else."""
    raise NotImplementedError
'''
_TEST = """import unittest

from duration import parse_duration


class Durations(unittest.TestCase):
    def test_units(self):
        self.assertEqual([parse_duration(t) for t in ("90s", "5m", "2d")], [90, 300, 172800])

    def test_nonsense(self):
        with self.assertRaises(ValueError):
            parse_duration("soon")
"""
_BODY = """    found = re.fullmatch(r"(?:(\\d+)d)?(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?", text)
    if not text or found is None:
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number or 0) * unit for number, unit in zip(found.groups(), _UNITS, strict=True))
"""
_CHECK = """import unittest
from duration import parse_duration

class Check(unittest.TestCase):
    def test_values(self):
        for text, seconds in {"90s": 90, "5m": 300, "1h30m": 5400, "2d": 172800, "1h5s": 3605}.items():
            self.assertEqual(parse_duration(text), seconds, text)

    def test_nonsense(self):
        for text in ("", "h", "5", "m5", "5m 3s", "-5m", "5x"):
            with self.assertRaises(ValueError, msg=text):
                parse_duration(text)

unittest.main()
"""

TASK = EvaluationTask(
    name="implement-function",
    purpose="write a function after its description",
    files={"duration.py": _CODE, "test_duration.py": _TEST},
    prompts=(f"Implement parse_duration in duration.py as its docstring says. Tests: {RUN_TESTS}",),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="duration.py"), call("read", path="test_duration.py"))),
        ScriptedStep(
            calls=(
                edit(
                    "duration.py",
                    (
                        "def parse_duration",
                        "import re\n\n_UNITS = (86400, 3600, 60, 1)\n\n\ndef parse_duration",
                    ),
                    ("    raise NotImplementedError\n", _BODY),
                ),
            ),
            sees=("raise NotImplementedError", 'parse_duration("soon")'),
        ),
        ScriptedStep(calls=(call("run", command=RUN_TESTS),), sees=("Changed duration.py",)),
        ScriptedStep(says="Implemented, and the tests pass.", sees=("OK",)),
    ),
)
