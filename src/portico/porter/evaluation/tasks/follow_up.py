"""Task: two prompts, where the second builds on the applied result of the first."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CHECK = """import unittest
import temperature

class Check(unittest.TestCase):
    def test_both_ways(self):
        self.assertEqual(temperature.to_celsius(212), 100)
        self.assertEqual(temperature.to_fahrenheit(100), 212)
        self.assertFalse(hasattr(temperature, "fahrenheit"))

unittest.main()
"""

TASK = EvaluationTask(
    name="follow-up",
    purpose="go on in a second turn with what the first one changed",
    files={"temperature.py": "def to_celsius(fahrenheit):\n    return (fahrenheit - 32) * 5 / 9\n"},
    prompts=(
        "Add a function fahrenheit(celsius) to temperature.py, the other way round.",
        "Better call it to_fahrenheit.",
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="temperature.py"),)),
        ScriptedStep(
            calls=(
                edit(
                    "temperature.py",
                    (
                        "    return (fahrenheit - 32) * 5 / 9\n",
                        (
                            "    return (fahrenheit - 32) * 5 / 9\n\n\n"
                            "def fahrenheit(celsius):\n    return celsius * 9 / 5 + 32\n"
                        ),
                    ),
                ),
            ),
            sees=("fahrenheit - 32",),
        ),
        ScriptedStep(says="Added.", sees=("Changed temperature.py",)),
        ScriptedStep(calls=(call("read", path="temperature.py"),), sees=("Better call it to_fahrenheit.",)),
        ScriptedStep(
            calls=(edit("temperature.py", ("def fahrenheit(", "def to_fahrenheit(")),),
            sees=("def fahrenheit(celsius)",),
        ),
        ScriptedStep(says="Renamed.", sees=("Changed temperature.py in 1 place",)),
    ),
)
