"""Task: move a module into a package and update its importers."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CHECK = """import pathlib, unittest
import app
from store.database import Database

class Check(unittest.TestCase):
    def test_it_moved(self):
        self.assertFalse(pathlib.Path("database.py").exists())
        self.assertTrue(pathlib.Path("store/__init__.py").exists())

    def test_it_works(self):
        self.assertEqual(app.start(), "opened main.db")
        self.assertIsInstance(app.make(), Database)

unittest.main()
"""

TASK = EvaluationTask(
    name="move-module",
    purpose="move a module into a package and correct its imports",
    files={
        "database.py": "class Database:\n    def __init__(self, name):\n        self.name = name\n\n"
        '    def open(self):\n        return f"opened {self.name}"\n',
        "app.py": 'from database import Database\n\n\ndef make():\n    return Database("main.db")\n\n\n'
        "def start():\n    return make().open()\n",
    },
    prompts=("Move database.py into a new package store, as store/database.py, and correct the imports.",),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("list"), call("grep", pattern="database", ignore_case=True))),
        ScriptedStep(
            calls=(
                call("move", source="database.py", target="store/database.py"),
                call("write", path="store/__init__.py", content='"""What is kept."""\n'),
                edit("app.py", ("from database import", "from store.database import")),
            ),
            sees=("from database import Database",),
        ),
        ScriptedStep(
            says="It is `store.database` now.",
            sees=("Moved database.py to store/database.py", "Created store/__init__.py"),
        ),
    ),
)
