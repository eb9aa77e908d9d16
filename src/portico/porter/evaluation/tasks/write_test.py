"""Task: write a test that would notice if the code were wrong."""

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedStep, call

_CODE = '''"""Roman numerals."""

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(text: str) -> int:
    values = [_VALUES[letter] for letter in text]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)
'''
_TEST = """import unittest

from roman import roman


class Roman(unittest.TestCase):
    def test_letters_add_up(self):
        self.assertEqual(roman("XVI"), 16)

    def test_a_smaller_letter_before_a_greater_one_is_taken_away(self):
        self.assertEqual(roman("MCMXCIV"), 1994)

    def test_other_letters_are_refused(self):
        with self.assertRaises(KeyError):
            roman("ABC")


if __name__ == "__main__":
    unittest.main()
"""
_CHECK = """import pathlib, subprocess, sys, unittest

def tests():
    run = [sys.executable, "-B", "-m", "unittest", "test_roman"]
    done = subprocess.run(run, capture_output=True, text=True)
    return done.returncode, done.stderr

class Check(unittest.TestCase):
    def test_the_tests_pass_and_notice_a_mistake(self):
        code, words = tests()
        self.assertEqual(code, 0, words)
        self.assertNotIn("Ran 0 tests", words)
        source = pathlib.Path("roman.py")
        right = source.read_text()
        try:
            source.write_text(right.replace("-value if", "value if"))
            self.assertNotEqual(tests()[0], 0, "the tests did not notice that subtraction is gone")
        finally:
            source.write_text(right)

unittest.main()
"""

TASK = EvaluationTask(
    name="write-test",
    purpose="write a test that fails when the code is wrong",
    files={"roman.py": _CODE},
    prompts=(
        (
            "Write unittest tests for roman.py in test_roman.py, with a case in which a smaller letter stands before "
            f"a greater one. Run them with: {RUN_TESTS}"
        ),
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="roman.py"),)),
        ScriptedStep(
            calls=(call("write", path="test_roman.py", content=_TEST), call("run", command=RUN_TESTS)),
            sees=("value < following",),
        ),
        ScriptedStep(says="Three tests, all pass.", sees=("Created test_roman.py", "Ran 3 tests")),
    ),
)
