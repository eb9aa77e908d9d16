import unittest

from articles.collection import Articles
from articles.slug import LONGEST, slug_of


class Slugs(unittest.TestCase):
    def test_accents(self):
        for title, slug in {
            "Crème brûlée": "creme-brulee",
            "Ångström & Co.": "angstrom-co",
            "cafe\u0301": "cafe",
            "Plain words": "plain-words",
            "ﬁne": "fine",
        }.items():
            self.assertEqual(slug_of(title), slug)

    def test_nothing_usable(self):
        for title in ("", "!!!", "日本語"):
            self.assertEqual(slug_of(title), "untitled", title)

    def test_a_cut_leaves_no_hyphen(self):
        slug = slug_of("a" * (LONGEST - 1) + " b")
        self.assertEqual(slug, "a" * (LONGEST - 1))


class Publishing(unittest.TestCase):
    def test_the_same_title(self):
        articles = Articles()
        slugs = [articles.publish("News", text) for text in ("one", "two", "three")]
        self.assertEqual(slugs, ["news", "news-2", "news-3"])
        self.assertEqual([articles.text(slug) for slug in slugs], ["one", "two", "three"])
        self.assertEqual(len(articles), 3)

    def test_a_title_that_has_the_number_already(self):
        articles = Articles()
        articles.publish("News 2", "a")
        self.assertEqual(articles.publish("News", "b"), "news")
        self.assertEqual(articles.publish("News", "c"), "news-3")
        self.assertEqual(articles.text("news-2"), "a")
