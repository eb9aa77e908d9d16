import json, pathlib, unittest

class Check(unittest.TestCase):
    def test_content(self):
        text = pathlib.Path("place.json").read_text(encoding="utf-8")
        found = json.loads(text)
        self.assertEqual(list(found), ["title", "hours", "open"])
        self.assertEqual(found["hours"], {"mon": "8–18", "sat": "9–14", "sun": "10–12"})
        self.assertIn("Café Zürich ☕", text)

unittest.main()
