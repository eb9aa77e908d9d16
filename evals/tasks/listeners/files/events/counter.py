"""Counts events up to a limit."""


class Counter:
    """Stops listening after `limit` events."""

    def __init__(self, bus, kind, limit):
        self.count = 0
        self._limit = limit
        self._remove = bus.add(kind, self._hear)

    def _hear(self, _value):
        self.count += 1
        if self.count == self._limit:
            self._remove()
