import unittest

from updates.offer import offer
from updates.version import parse


class Order(unittest.TestCase):
    def test_numbers(self):
        ordered = ["0.9", "1.0.0-alpha", "1.0.0-rc2", "1.0.0-rc10", "1.0.0", "1.2", "1.9.0", "1.10.0", "10.0"]
        self.assertEqual(sorted(reversed(ordered), key=parse), ordered)

    def test_missing_parts_are_zero(self):
        self.assertEqual(parse("1.2"), parse("1.2.0"))
        self.assertEqual(hash(parse("1.2")), hash(parse("1.2.0")))

    def test_the_text_stays(self):
        self.assertEqual(str(parse(" 1.2 ")), "1.2")

    def test_what_is_no_version(self):
        for text in ("", "one", "1..2", "1.x"):
            with self.assertRaises(ValueError, msg=text):
                parse(text)


class Offers(unittest.TestCase):
    def test_only_newer_ones(self):
        self.assertIsNone(offer("1.10.0", ["1.9.0", "1.10"]))
        self.assertEqual(offer("1.9.0", ["1.9.5", "1.10.0", "1.2"]), "1.10.0")

    def test_prereleases_are_for_those_who_want_them(self):
        available = ["1.9.0", "2.0.0-rc1"]
        self.assertEqual(offer("1.8", available), "1.9.0")
        self.assertEqual(offer("1.8", available, prereleases=True), "2.0.0-rc1")
        self.assertEqual(offer("2.0.0-rc1", ["2.0.0"]), "2.0.0")
