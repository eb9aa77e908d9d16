import pathlib
import tempfile
import unittest

from server.answer import answer

MISSING = (404, b"")


class Answers(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        root = pathlib.Path(made.name)
        self.public = root / "public"
        (self.public / "deep").mkdir(parents=True)
        (self.public / "a b.txt").write_bytes(b"a")
        (self.public / "deep" / "c.txt").write_bytes(b"c")
        (root / "secret.txt").write_bytes(b"secret")
        (root / "public-not").mkdir()
        (root / "public-not" / "x.txt").write_bytes(b"x")
        (self.public / "link.txt").symlink_to(root / "secret.txt")
        (self.public / "inner.txt").symlink_to(self.public / "deep" / "c.txt")
        self.root = root

    def test_inside(self):
        for target in ("/files/a%20b.txt", "/files/deep/../a b.txt", "/files/deep/../a%20b.txt?v=1"):
            self.assertEqual(answer(self.public, target), (200, b"a"), target)
        self.assertEqual(answer(self.public, "/files/inner.txt"), (200, b"c"))

    def test_outside(self):
        targets = ("../secret.txt", "%2e%2e/secret.txt", "deep/../../secret.txt", f"{self.root}/secret.txt", "link.txt")
        for target in (*targets, "../public-not/x.txt"):
            self.assertEqual(answer(self.public, f"/files/{target}"), MISSING, target)

    def test_missing(self):
        for target in ("/files/none.txt", "/files/deep", "/files/", "/other"):
            self.assertEqual(answer(self.public, target), MISSING, target)
