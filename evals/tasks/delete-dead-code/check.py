import pathlib, unittest
import app
from blog import text

class Check(unittest.TestCase):
    def test_what_nobody_uses_is_gone(self):
        self.assertFalse(pathlib.Path("blog/legacy.py").exists())
        self.assertFalse(hasattr(text, "shout"))

    def test_what_is_used_stays(self):
        self.assertEqual(app.main("Hello big World"), "hello-big-world: Hello big…")

unittest.main()
