import unittest
from pages import page_count, pages

class Check(unittest.TestCase):
    def test_counts(self):
        self.assertEqual([page_count(n, 3) for n in range(8)], [0, 1, 1, 1, 2, 2, 2, 3])

    def test_nothing_is_lost(self):
        self.assertEqual(sum(pages(list("abcdefg"), 3), []), list("abcdefg"))

unittest.main()
