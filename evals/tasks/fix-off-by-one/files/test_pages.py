import unittest

from pages import pages


class Pages(unittest.TestCase):
    def test_the_last_page_may_be_short(self):
        self.assertEqual(pages(list("abcde"), 2), [["a", "b"], ["c", "d"], ["e"]])

    def test_a_list_that_fits_has_no_empty_page(self):
        self.assertEqual(pages(list("abcd"), 2), [["a", "b"], ["c", "d"]])
