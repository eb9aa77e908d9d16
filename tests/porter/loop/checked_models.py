"""Program: scripted models work on a project with a failing test, in sessions with all components.

It prints what each was told and whether its task passed, as JSON. A process of its own, because a host is left to the
end of its process.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from portico.app.eval_runner import evaluate
from portico.porter.evaluation.task import load_tasks
from portico.porter.models.model import ModelFacts, ModelRequest, ModelText, UserMessage
from tests.porter.loop.scripted import Say, ScriptedModel, Step, call, calls

SMALL = ModelFacts(window=32_000, images=False, small=True)
TEST = """import unittest
from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""


def change(old: str, new: str) -> Step:
    return calls(call("edit", path="calc.py", search=f"return a {old} b", replace=f"return a {new} b"))


def draft(sign: str) -> Step:
    return Say(f"So:\n\ncalc.py\n```python\ndef add(a, b):\n    return a {sign} b\n```\n")


def models() -> dict[str, ScriptedModel]:
    wrong = [change(*pair) for pair in (("-", "*"), ("*", "/"), ("/", "%"))]
    large = calls(call("edit", path="calc.py", edits=[{"old": "a - b", "new": "a * b"}]))
    return {
        "repairs": ScriptedModel([change("-", "*"), Say("Fixed."), change("*", "+")], SMALL),
        "drafts": ScriptedModel([draft("*"), draft("+")], SMALL),
        "fails": ScriptedModel([step for one in wrong for step in (one, Say("Fixed."))], SMALL),
        "large": ScriptedModel([large, Say("Fixed.")]),
    }


def write_task(task: Path) -> None:
    (task / "files").mkdir(parents=True)
    (task / "task.toml").write_text('purpose = "p"\nprompts = ["Fix add in calc.py."]\n')
    (task / "files" / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (task / "files" / "test_calc.py").write_text(TEST)
    (task / "check.py").write_text("from calc import add\nassert add(2, 3) == 5\n")


def told(request: ModelRequest) -> str:
    """The last message of a request, if it is one of the user or of Porter."""
    parts = request.messages[-1].parts if isinstance(request.messages[-1], UserMessage) else ()
    return "".join(part.text for part in parts if isinstance(part, ModelText))


async def main(folder: Path) -> None:
    scripted = models()
    for name in scripted:
        write_task(folder / "tasks" / name)
    results = await evaluate(
        load_tasks(folder / "tasks"),
        folder / "run",
        # Without the pytest of these tests, so that Python's own runner is found.
        {**os.environ, "PATH": "/usr/bin:/bin"},
        lambda task: scripted[task.name].setup()(None),
        lambda _result: None,
    )
    seen = {
        result.task: {"passed": result.passed, "told": list(map(told, scripted[result.task].requests))}
        for result in results
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
