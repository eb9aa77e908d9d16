"""Task: follow the conventions that AGENTS.md sets for changes."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CHECK = """import pathlib, unittest
import words

class Check(unittest.TestCase):
    def test_code(self):
        self.assertEqual(words.count("one two  three"), 3)
        self.assertEqual(words.longest("one three two"), "three")

    def test_conventions(self):
        changes = pathlib.Path("CHANGELOG.md").read_text()
        self.assertRegex(changes.partition("## 1.0")[0], r"(?m)^- .*longest")
        self.assertIn('__all__ = ["count", "longest"]', pathlib.Path("words.py").read_text())

unittest.main()
"""

TASK = EvaluationTask(
    name="follow-conventions",
    purpose="do what the project's AGENTS.md asks of every change",
    files={
        "AGENTS.md": "# Conventions\n\n- Every public function stands in `__all__`, in alphabetical order.\n"
        "- Every change gets a line in CHANGELOG.md under “Unreleased”, beginning with “- ”.\n",
        "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n## 1.0\n\n- First release.\n",
        "words.py": '__all__ = ["count"]\n\n\ndef count(text):\n    return len(text.split())\n',
    },
    prompts=("Add a function longest(text) to words.py that gives the longest word.",),
    check=_CHECK,
    script=(
        ScriptedStep(
            calls=(call("read", path="words.py"), call("read", path="CHANGELOG.md")),
            sees=("Every change gets a line in CHANGELOG.md",),
        ),
        ScriptedStep(
            calls=(
                edit(
                    "words.py",
                    ('["count"]', '["count", "longest"]'),
                    (
                        "    return len(text.split())\n",
                        (
                            "    return len(text.split())\n\n\n"
                            "def longest(text):\n    return max(text.split(), key=len)\n"
                        ),
                    ),
                ),
                edit("CHANGELOG.md", ("## Unreleased\n", "## Unreleased\n\n- Add `longest`.\n")),
            ),
            sees=("## Unreleased", "__all__"),
        ),
        ScriptedStep(says="Added, and noted in the changelog.", sees=("Changed CHANGELOG.md",)),
    ),
)
