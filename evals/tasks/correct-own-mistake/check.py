import pathlib, unittest

class Check(unittest.TestCase):
    def test_rules(self):
        text = pathlib.Path("Makefile").read_text()
        self.assertIn("test: build\n\tpython3 -m unittest -v\n", text)
        self.assertIn("build:\n\tpython3 -m compileall -q src\n", text)
        self.assertNotIn("\n ", text)

unittest.main()
