import unittest

from shop.prices import calc


class Prices(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(calc([1, 2]), 3)
