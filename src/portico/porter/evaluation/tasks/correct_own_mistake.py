"""Task: recover from an edit that does not match because of tabs."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, edit

_MAKE = "build:\n\tpython3 -m compileall -q src\n\ntest:\n\tpython3 -m unittest\n"
_CHECK = """import pathlib, unittest

class Check(unittest.TestCase):
    def test_rules(self):
        text = pathlib.Path("Makefile").read_text()
        self.assertIn("test: build\\n\\tpython3 -m unittest -v\\n", text)
        self.assertIn("build:\\n\\tpython3 -m compileall -q src\\n", text)
        self.assertNotIn("\\n ", text)

unittest.main()
"""

TASK = EvaluationTask(
    name="correct-own-mistake",
    purpose="recover from an edit that did not fit",
    files={"Makefile": _MAKE, "src/empty.py": ""},
    prompts=("In the Makefile let test depend on build, and let it run the tests with -v.",),
    check=_CHECK,
    script=(
        ScriptedStep(
            calls=(
                edit(
                    "Makefile",
                    ("test:\n    python3 -m unittest\n", "test: build\n    python3 -m unittest -v\n"),
                ),
            )
        ),
        ScriptedStep(
            says="It is a tab, of course.",
            calls=(
                edit(
                    "Makefile",
                    ("test:\n\tpython3 -m unittest\n", "test: build\n\tpython3 -m unittest -v\n"),
                ),
            ),
            sees=("Nothing was changed",),
        ),
        ScriptedStep(says="Done, with a tab.", sees=("Changed Makefile in 1 place",)),
    ),
)
