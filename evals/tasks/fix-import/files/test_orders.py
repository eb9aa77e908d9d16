import unittest

from customers import Customer


class Orders(unittest.TestCase):
    def test_label(self):
        self.assertEqual(Customer("Ada").order("tea").label(), "tea for Ada")
