import unittest
from datetime import datetime, timezone

from logview.entry import read_entry, read_time
from logview.view import view

LINES = [
    "2024-05-01T08:00:00+00:00 info started\n",
    "2024-05-01T09:30:00+02:00 info woke up\n",
    "\n",
    "2024-05-01T07:45:00 warning slow: three  spaces\n",
]


class Times(unittest.TestCase):
    def test_without_an_offset_it_is_utc(self):
        self.assertEqual(read_time("2024-05-01T07:45:00"), datetime(2024, 5, 1, 7, 45, tzinfo=timezone.utc))

    def test_an_offset_counts(self):
        self.assertEqual(read_time("2024-05-01T09:30:00+02:00"), read_time("2024-05-01T07:30:00"))


class View(unittest.TestCase):
    def test_the_oldest_comes_first(self):
        self.assertEqual([one.message for one in view(LINES)], ["woke up", "slow: three  spaces", "started"])

    def test_since_is_part_of_it(self):
        for since in ("2024-05-01T07:45:00", "2024-05-01T09:45:00+02:00"):
            found = view(LINES, since)
            self.assertEqual([one.message for one in found], ["slow: three  spaces", "started"], since)

    def test_an_entry_keeps_its_words(self):
        self.assertEqual(read_entry(LINES[3]).level, "warning")
