import unittest
from limits import limit

class Check(unittest.TestCase):
    def test_limits(self):
        self.assertEqual([limit(name) for name in ("tiny", "small", "large", "huge")], [10, 20, 30, 40])

unittest.main()
