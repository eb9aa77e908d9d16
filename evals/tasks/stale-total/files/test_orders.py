import unittest

from orders.line import Line
from orders.order import Order


class Totals(unittest.TestCase):
    def setUp(self):
        self.order = Order()
        self.order.add("tea", 450, 2)
        self.order.add("milk", 120)
        self.assertEqual(self.order.total, 1020)

    def test_removed(self):
        self.order.remove("milk")
        self.assertEqual(self.order.total, 900)

    def test_changed(self):
        self.order.change_quantity("milk", 3)
        self.assertEqual(self.order.total, 1260)
        self.order.change_quantity("tea", 0)
        self.assertEqual(self.order.total, 360)

    def test_refused(self):
        with self.assertRaises(ValueError):
            self.order.change_quantity("milk", -1)
        self.assertEqual(self.order.total, 1020)

    def test_it_is_computed_once(self):
        before = Line.computed
        for _ in range(5):
            self.assertEqual(self.order.total, 1020)
        self.assertEqual(Line.computed, before)
