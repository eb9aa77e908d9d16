"""Task: replace every print of a module by logging."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CODE = """def load(names):
    print("loading")
    for name in names:
        print("loading", name)
    print("done")
    return len(names)
"""
_CHECK = """import contextlib, io, logging, unittest
import loader

class Check(unittest.TestCase):
    def test_it_logs_and_prints_nothing(self):
        out = io.StringIO()
        with self.assertLogs("loader", logging.INFO) as logged, contextlib.redirect_stdout(out):
            self.assertEqual(loader.load(["a", "b"]), 2)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual([one.getMessage() for one in logged.records], ["loading", "loading a", "loading b", "done"])

unittest.main()
"""

TASK = EvaluationTask(
    name="replace-prints",
    purpose="make the same change in several places of one file",
    files={"loader.py": _CODE},
    prompts=(
        (
            "In loader.py replace every print by an info line of a logger that has the module's name. "
            "The messages stay the same."
        ),
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="loader.py"),)),
        ScriptedStep(
            says="First the one with a value in it.",
            calls=(
                edit(
                    "loader.py",
                    (
                        "def load(",
                        "import logging\n\nlog = logging.getLogger(__name__)\n\n\ndef load(",
                    ),
                    ('print("loading", name)', 'log.info("loading %s", name)'),
                ),
            ),
            sees=('print("loading", name)',),
        ),
        ScriptedStep(
            calls=(edit("loader.py", ("print(", "log.info("), everywhere=True),), sees=("in 2 places",)
        ),
        ScriptedStep(says="It logs now.", sees=("Changed loader.py in 2 places",)),
    ),
)
