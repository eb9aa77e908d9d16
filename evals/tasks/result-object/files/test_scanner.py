import dataclasses
import unittest

from scanner import limits, report
from scanner.scan import LARGEST, ScanResult, scan

SOURCES = {"b.txt": b"one\ntwo\n", "a.txt": b"one", "c.bin": b"\xff\xfe\xfd", "big": b"x" * (LARGEST + 1)}


class Scan(unittest.TestCase):
    def test_the_result_has_names(self):
        found = scan(SOURCES)
        self.assertEqual(found, ScanResult(files=["a.txt", "b.txt"], lines=3, skipped=["big"], errors=["c.bin"]))

    def test_the_result_is_frozen(self):
        with self.assertRaises(dataclasses.FrozenInstanceError):
            scan({}).lines = 1

    def test_the_result_is_no_tuple(self):
        self.assertNotIsInstance(scan({}), tuple)


class Callers(unittest.TestCase):
    def test_summary(self):
        self.assertEqual(report.summary(SOURCES), "3 lines in 2 files; 1 too large; not text: c.bin")

    def test_average(self):
        self.assertEqual(report.average(SOURCES), 1.5)
        self.assertEqual(report.average({}), 0.0)

    def test_limits(self):
        limits.enforce({"a": b"x\n"}, 1)
        for sources in ({"a": b"x\ny\n"}, {"a": b"\xff"}):
            with self.assertRaises(limits.TooMuch):
                limits.enforce(sources, 1)
