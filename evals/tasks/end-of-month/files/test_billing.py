import unittest
from datetime import date

from billing.dates import add_months
from billing.schedule import Subscription


class Months(unittest.TestCase):
    def test_a_short_month(self):
        self.assertEqual(add_months(date(2023, 1, 31), 1), date(2023, 2, 28))
        self.assertEqual(add_months(date(2024, 1, 31), 1), date(2024, 2, 29))
        self.assertEqual(add_months(date(2024, 2, 29), 12), date(2025, 2, 28))

    def test_a_long_one(self):
        self.assertEqual(add_months(date(2024, 11, 15), 2), date(2025, 1, 15))
        self.assertEqual(add_months(date(2024, 3, 31), -1), date(2024, 2, 29))


class Due(unittest.TestCase):
    def test_the_31st_comes_back(self):
        found = Subscription(date(2024, 1, 31)).due(5)
        self.assertEqual([(one.month, one.day) for one in found], [(1, 31), (2, 29), (3, 31), (4, 30), (5, 31)])

    def test_the_next_date(self):
        every = Subscription(date(2023, 12, 31), months=2)
        self.assertEqual(every.next_due(date(2024, 3, 1)), date(2024, 4, 30))
        self.assertEqual(every.next_due(date(2024, 8, 31)), date(2024, 8, 31))
        self.assertEqual(every.next_due(date(2020, 1, 1)), date(2023, 12, 31))

    def test_in_the_middle_of_the_month(self):
        self.assertEqual(Subscription(date(2024, 1, 5), months=12).due(2), [date(2024, 1, 5), date(2025, 1, 5)])
