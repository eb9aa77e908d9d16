import pathlib, unittest
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
