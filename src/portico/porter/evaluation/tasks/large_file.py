"""Task: correct one line in a file too long to read at once."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_COUNT = 6000
_WRONG = 4321


def _line(number: int) -> str:
    value = number * number + (1 if number == _WRONG else 0)
    return f"    {number}: {value},  # the square of {number}"


_TABLE = "\n".join(("SQUARES = {", *map(_line, range(1, _COUNT + 1)), "}", ""))
_CHECK = f"""import pathlib, unittest
from squares import SQUARES

class Check(unittest.TestCase):
    def test_every_square(self):
        self.assertEqual([n for n, value in SQUARES.items() if value != n * n], [])
        self.assertEqual(len(SQUARES), {_COUNT})

    def test_the_comments_stay(self):
        self.assertEqual(pathlib.Path("squares.py").read_text().count("# the square of"), {_COUNT})

unittest.main()
"""

TASK = EvaluationTask(
    name="large-file",
    purpose="change one line in a file of six thousand",
    files={"squares.py": _TABLE},
    prompts=(f"In squares.py the square of {_WRONG} is wrong. Correct that value.",),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="squares.py"),)),
        ScriptedStep(
            calls=(call("grep", pattern=rf"^\s+{_WRONG}:", path="squares.py"),),
            sees=("There is more: go on with first_line=2001",),
        ),
        ScriptedStep(
            calls=(call("read", path="squares.py", first_line=_WRONG, lines=3),),
            sees=(f"{_WRONG**2 + 1}",),
        ),
        ScriptedStep(
            calls=(edit("squares.py", (f" {_WRONG}: {_WRONG**2 + 1},", f" {_WRONG}: {_WRONG**2},")),),
            sees=(f"{_WRONG + 1}\t",),
        ),
        ScriptedStep(says="Corrected.", sees=("Changed squares.py in 1 place",)),
    ),
)
