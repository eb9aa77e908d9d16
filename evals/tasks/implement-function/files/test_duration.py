import unittest

from duration import parse_duration


class Durations(unittest.TestCase):
    def test_units(self):
        self.assertEqual([parse_duration(t) for t in ("90s", "5m", "2d")], [90, 300, 172800])

    def test_nonsense(self):
        with self.assertRaises(ValueError):
            parse_duration("soon")
