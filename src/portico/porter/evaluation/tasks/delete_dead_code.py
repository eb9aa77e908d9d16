"""Task: delete an unused module and the function that only it used."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_TEXT = """def slug(title):
    return "-".join(title.lower().split())


def shout(title):
    return title.upper() + "!"


def short(title, length=10):
    return title if len(title) <= length else title[: length - 1] + "…"
"""
_CHECK = """import pathlib, unittest
import app
from blog import text

class Check(unittest.TestCase):
    def test_what_nobody_uses_is_gone(self):
        self.assertFalse(pathlib.Path("blog/legacy.py").exists())
        self.assertFalse(hasattr(text, "shout"))

    def test_what_is_used_stays(self):
        self.assertEqual(app.main("Hello big World"), "hello-big-world: Hello big…")

unittest.main()
"""

TASK = EvaluationTask(
    name="delete-dead-code",
    purpose="remove a module that nobody uses, and nothing else",
    files={
        "app.py": "from blog.text import short, slug\n\n\ndef main(title):\n"
        '    return f"{slug(title)}: {short(title)}"\n',
        "blog/__init__.py": "",
        "blog/text.py": _TEXT,
        "blog/legacy.py": "from blog.text import shout\n\n\ndef headline(title):\n    return shout(title)\n",
    },
    prompts=(
        "Nobody imports blog/legacy.py. Delete it, and delete every function that nobody uses after that.",
    ),
    check=_CHECK,
    script=(
        ScriptedStep(
            calls=(
                call("grep", pattern=r"legacy|\b(slug|shout|short)\b"),
                call("read", path="blog/text.py"),
                call("read", path="blog/legacy.py"),
            )
        ),
        ScriptedStep(
            calls=(
                call("delete", path="blog/legacy.py"),
                edit("blog/text.py", ('def shout(title):\n    return title.upper() + "!"\n\n\n', "")),
            ),
            sees=("from blog.text import shout", "app.py"),
        ),
        ScriptedStep(
            says="`legacy.py` and `shout` are gone.", sees=("Deleted blog/legacy.py", "Changed blog/text.py")
        ),
    ),
)
