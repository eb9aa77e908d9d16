import unittest

from cache import Cache
from service import Service
from settings import load


class Time:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Lookups(unittest.TestCase):
    def setUp(self):
        self.time, self.asked = Time(), []
        self.service = Service(load("cache_ttl_ms = 1500"), self.find, self.time)

    def find(self, name, timeout):
        self.asked.append((name, timeout))
        return name.upper()

    def test_it_is_asked_again_after_a_second_and_a_half(self):
        self.assertEqual(self.service.look_up("ada"), "ADA")
        self.time.now += 1.4
        self.service.look_up("ada")
        self.assertEqual(len(self.asked), 1)
        self.time.now += 0.2
        self.service.look_up("ada")
        self.assertEqual(self.asked, [("ada", 5.0), ("ada", 5.0)])

    def test_the_cache_itself_counts_in_seconds(self):
        cache = Cache(2, 10, self.time)
        cache.put("a", 1)
        self.time.now += 1.9
        self.assertEqual(cache.get("a"), 1)
        self.time.now += 0.1
        self.assertIsNone(cache.get("a"))

    def test_settings_keep_their_unit(self):
        self.assertEqual(load("cache_ttl_ms = 1500").cache_ttl_ms, 1500)
