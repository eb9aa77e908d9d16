"""Task: change a default in the code and in its documentation."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CHECK = """import pathlib, unittest
import client

class Check(unittest.TestCase):
    def test_code(self):
        self.assertEqual(client.Settings().timeout, 30)
        self.assertEqual(client.Settings().retries, 3)

    def test_docs(self):
        page = pathlib.Path("docs/settings.md").read_text()
        self.assertIn("| `timeout` | 30 |", page)
        self.assertIn("| `retries` | 3 |", page)
        self.assertNotIn("10 seconds", page)

unittest.main()
"""

TASK = EvaluationTask(
    name="docs-and-code",
    purpose="change a default and the documentation of it together",
    files={
        "client.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Settings:\n"
        "    timeout: int = 10\n    retries: int = 3\n",
        "docs/settings.md": "# Settings\n\n| name | default | meaning |\n|---|---|---|\n"
        "| `timeout` | 10 | seconds to wait for an answer |\n| `retries` | 3 | how often to try again |\n\n"
        "A server that is silent for 10 seconds counts as gone.\n",
    },
    prompts=(
        "Raise the default timeout to 30 seconds, in the code and wherever the documentation names it.",
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("grep", pattern="timeout|10"),)),
        ScriptedStep(
            calls=(
                edit("client.py", ("timeout: int = 10", "timeout: int = 30")),
                edit(
                    "docs/settings.md",
                    ("| `timeout` | 10 |", "| `timeout` | 30 |"),
                    ("for 10 seconds", "for 30 seconds"),
                ),
            ),
            sees=("client.py", "docs/settings.md", "counts as gone"),
        ),
        ScriptedStep(says="30 seconds, in the code and in two places of the page.", sees=("in 2 places",)),
    ),
)
