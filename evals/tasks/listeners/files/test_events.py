import unittest

from events.bus import Bus
from events.counter import Counter


class Listeners(unittest.TestCase):
    def setUp(self):
        self.bus, self.heard = Bus(), []

    def test_one_that_leaves_does_not_hide_the_next(self):
        first = Counter(self.bus, "tick", 1)
        self.bus.add("tick", self.heard.append)
        for number in range(3):
            self.bus.send("tick", number)
        self.assertEqual((first.count, self.heard), (1, [0, 1, 2]))

    def test_one_that_comes_hears_the_next_event(self):
        def once(value):
            if value == 0:
                self.bus.add("tick", self.heard.append)

        self.bus.add("tick", once)
        self.bus.send("tick", 0)
        self.assertEqual(self.heard, [])
        self.bus.send("tick", 1)
        self.assertEqual(self.heard, [1])

    def test_one_that_was_removed_by_another_is_not_called(self):
        removals = []
        self.bus.add("tick", lambda _: removals and removals.pop()())
        removals.append(self.bus.add("tick", self.heard.append))
        self.bus.send("tick", 0)
        self.assertEqual(self.heard, [])

    def test_removing_twice_does_nothing(self):
        remove = self.bus.add("tick", self.heard.append)
        remove()
        remove()
        self.bus.send("tick", 1)
        self.assertEqual(self.heard, [])

    def test_the_same_listener_twice_is_called_twice(self):
        self.bus.add("tick", self.heard.append)
        remove = self.bus.add("tick", self.heard.append)
        self.bus.send("tick", 1)
        remove()
        remove()
        self.bus.send("tick", 2)
        self.assertEqual(self.heard, [1, 1, 2])
