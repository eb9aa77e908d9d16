"""Task: add an entry to a JSON file without changing its order or other values."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_JSON = '{\n  "title": "Café Zürich ☕",\n  "hours": {\n    "mon": "8–18",\n    "sat": "9–14"\n  },\n  "open": true\n}\n'
_CHECK = """import json, pathlib, unittest

class Check(unittest.TestCase):
    def test_content(self):
        text = pathlib.Path("place.json").read_text(encoding="utf-8")
        found = json.loads(text)
        self.assertEqual(list(found), ["title", "hours", "open"])
        self.assertEqual(found["hours"], {"mon": "8–18", "sat": "9–14", "sun": "10–12"})
        self.assertIn("Café Zürich ☕", text)

unittest.main()
"""

TASK = EvaluationTask(
    name="edit-json",
    purpose="add an entry to JSON with letters beyond ASCII",
    files={"place.json": _JSON},
    prompts=('In place.json add the hours of Sunday, "sun": "10–12", after Saturday. Change nothing else.',),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="place.json"),)),
        ScriptedStep(
            calls=(edit("place.json", ('    "sat": "9–14"\n', '    "sat": "9–14",\n    "sun": "10–12"\n')),),
            sees=("Café Zürich ☕",),
        ),
        ScriptedStep(says="Sunday is in.", sees=("Changed place.json",)),
    ),
)
