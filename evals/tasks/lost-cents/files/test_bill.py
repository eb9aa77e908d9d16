import unittest

from bill import bill
from money import format_money
from split import split, split_by


class Shares(unittest.TestCase):
    def test_the_first_pay_what_is_left_over(self):
        self.assertEqual(split(1000, ["a", "b", "c"]), {"a": 334, "b": 333, "c": 333})
        self.assertEqual(split(5, ["a", "b", "c"]), {"a": 2, "b": 2, "c": 1})

    def test_nothing_is_lost(self):
        for cents in range(0, 200, 7):
            for count in range(1, 9):
                shares = split(cents, [str(number) for number in range(count)])
                self.assertEqual(sum(shares.values()), cents)
                self.assertLessEqual(max(shares.values()) - min(shares.values()), 1)

    def test_by_weight(self):
        self.assertEqual(split_by(100, {"a": 1, "b": 1, "c": 1}), {"a": 34, "b": 33, "c": 33})
        self.assertEqual(split_by(1001, {"a": 3, "b": 1}), {"a": 751, "b": 250})
        self.assertEqual(sum(split_by(999, {"a": 5, "b": 3, "c": 7}).values()), 999)

    def test_nobody(self):
        with self.assertRaises(ValueError):
            split(100, [])


class Words(unittest.TestCase):
    def test_amounts(self):
        for cents, text in {0: "0.00", 5: "0.05", 1234: "12.34", -5: "-0.05", -1250: "-12.50"}.items():
            self.assertEqual(format_money(cents), text)

    def test_a_bill(self):
        self.assertEqual(bill("10.00", ["Ada", "Bo", "Cy"]), ["Ada: 3.34", "Bo: 3.33", "Cy: 3.33"])
        self.assertEqual(bill("0.10", [], {"Ada": 2, "Bo": 1}), ["Ada: 0.07", "Bo: 0.03"])
