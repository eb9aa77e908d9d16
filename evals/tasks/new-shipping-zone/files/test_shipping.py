import unittest

from shipping.prices import NotPossible, price
from shipping.zones import zone_of


class Zones(unittest.TestCase):
    def test_islands(self):
        for code in ("IM1 1AA", "je2 3ab", "GY10 1SB"):
            self.assertEqual(zone_of(code), "island", code)

    def test_others(self):
        self.assertEqual(zone_of("SW1A 1AA"), "mainland")
        self.assertEqual(zone_of("IV3 5SB"), "highlands")


class Prices(unittest.TestCase):
    def test_islands(self):
        self.assertEqual(price("IM1 1AA", 1000), 845)
        self.assertEqual(price("JE2 3AB", 1001), 935)
        self.assertEqual(price("GY1 1AA", 3000), 1025)

    def test_no_express_to_islands(self):
        with self.assertRaises(NotPossible):
            price("GY1 1AA", 500, express=True)

    def test_others_cost_what_they_did(self):
        self.assertEqual(price("SW1A 1AA", 2500, express=True), 855)
        self.assertEqual(price("KW1 4AA", 900), 595)
        with self.assertRaises(NotPossible):
            price("KW1 4AA", 900, express=True)
