import unittest
from basket import Basket

class Check(unittest.TestCase):
    def test_baskets_are_apart(self):
        Basket().add("tea")
        self.assertEqual(Basket().items, [])

    def test_a_list_that_is_given_is_not_changed(self):
        mine = ["tea"]
        self.assertEqual(Basket(mine).add("milk").items, ["tea", "milk"])
        self.assertEqual(mine, ["tea"])

unittest.main()
