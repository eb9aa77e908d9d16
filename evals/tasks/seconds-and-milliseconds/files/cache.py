"""A cache whose entries expire."""

import time


class Cache:
    """Keeps `size` entries for `ttl` seconds each."""

    def __init__(self, ttl, size, clock=time.monotonic):
        self.ttl = ttl
        self.size = size
        self._clock = clock
        self._entries = {}

    def put(self, key, value):
        self._entries.pop(key, None)
        while len(self._entries) >= self.size:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (self._clock(), value)

    def get(self, key):
        entry = self._entries.get(key)
        if entry is None:
            return None
        written, value = entry
        if self._clock() - written >= self.ttl:
            del self._entries[key]
            return None
        return value
