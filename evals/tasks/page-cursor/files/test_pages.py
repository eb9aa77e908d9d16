import unittest

from messages.pages import page
from messages.store import Store


def walk(store, size):
    cursor, pages = None, []
    while len(pages) < 20:
        found, cursor = page(store, size, cursor)
        pages.append(found)
        if cursor is None:
            return pages
    raise AssertionError("the pages have no end")


class Pages(unittest.TestCase):
    def test_no_message_comes_twice(self):
        self.assertEqual(walk(Store([1, 2, 5, 7, 8]), 2), [[1, 2], [5, 7], [8]])

    def test_the_last_page_may_be_full(self):
        self.assertEqual(walk(Store([3, 4, 6, 9]), 2), [[3, 4], [6, 9]])
        self.assertEqual(walk(Store([3]), 1), [[3]])

    def test_a_message_that_was_deleted_may_be_the_cursor(self):
        self.assertEqual(page(Store([1, 2, 7]), 5, "4"), ([7], None))

    def test_no_messages(self):
        self.assertEqual(page(Store([]), 3), ([], None))

    def test_the_cursor_is_the_last_number(self):
        self.assertEqual(page(Store([1, 2, 5]), 2), ([1, 2], "2"))
