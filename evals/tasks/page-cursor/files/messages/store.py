"""Messages, ordered by their number."""

from bisect import bisect_left


class Store:
    def __init__(self, numbers):
        self._numbers = sorted(numbers)

    def from_number(self, number, limit):
        """Return at most so many numbers, beginning with the given one or the next that exists."""
        place = bisect_left(self._numbers, number)
        return self._numbers[place : place + limit]
