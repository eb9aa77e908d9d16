import unittest
from duration import parse_duration

class Check(unittest.TestCase):
    def test_values(self):
        for text, seconds in {"90s": 90, "5m": 300, "1h30m": 5400, "2d": 172800, "1h5s": 3605}.items():
            self.assertEqual(parse_duration(text), seconds, text)

    def test_nonsense(self):
        for text in ("", "h", "5", "m5", "5m 3s", "-5m", "5x"):
            with self.assertRaises(ValueError, msg=text):
                parse_duration(text)

unittest.main()
