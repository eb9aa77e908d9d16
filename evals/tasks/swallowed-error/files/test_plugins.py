import pathlib
import tempfile
import unittest

from plugins.loader import load_all
from plugins.manifest import Manifest, ManifestError

GOOD = '{"name": "good", "version": "1.0"}'


class Loading(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.write("b-good", GOOD)

    def write(self, plugin, text):
        (self.folder / plugin).mkdir()
        (self.folder / plugin / "plugin.json").write_text(text, encoding="utf-8")

    def refused(self):
        with self.assertRaises(ManifestError) as caught:
            load_all(self.folder)
        return str(caught.exception)

    def test_what_is_no_plugin_is_left_out(self):
        (self.folder / "a-empty").mkdir()
        (self.folder / "readme.txt").write_text("no plugin")
        self.assertEqual(load_all(self.folder), [Manifest("good", "1.0", "main")])

    def test_a_broken_file_is_named_with_its_line(self):
        self.write("a-broken", '{\n"name": "x",\n"version" 1\n}')
        words = self.refused()
        self.assertIn("a-broken", words)
        self.assertIn("line 3", words)

    def test_a_missing_field_is_named(self):
        self.write("c-half", '{"name": "half"}')
        words = self.refused()
        self.assertIn("c-half", words)
        self.assertIn("version", words)

    def test_something_else_than_an_object_is_refused(self):
        self.write("d-list", "[1, 2]")
        self.assertIn("d-list", self.refused())
