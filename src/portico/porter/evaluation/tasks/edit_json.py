"""A JSON file gets an entry; its order, its other values and its letters stay."""

from portico.porter.evaluation.task import Step, Task, call, edit

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

TASK = Task(
    name="edit-json",
    purpose="add an entry to JSON with letters beyond ASCII",
    files={"place.json": _JSON},
    prompts=('In place.json add the hours of Sunday, "sun": "10–12", after Saturday. Change nothing else.',),
    check=_CHECK,
    script=(
        Step(calls=(call("read", path="place.json"),)),
        Step(
            calls=(edit("place.json", ('    "sat": "9–14"\n', '    "sat": "9–14",\n    "sun": "10–12"\n')),),
            sees=("Café Zürich ☕",),
        ),
        Step(says="Sunday is in.", sees=("Changed place.json",)),
    ),
)
