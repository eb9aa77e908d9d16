"""A service that looks names up, and remembers what it found."""

import time

from cache import Cache


class Service:
    def __init__(self, settings, find, clock=time.monotonic):
        self._find = find
        self.timeout = settings.request_timeout_ms / 1000
        self._cache = Cache(settings.cache_ttl_ms / 1000, settings.cache_size, clock)

    def look_up(self, name):
        found = self._cache.get(name)
        if found is None:
            found = self._find(name, self.timeout)
            self._cache.put(name, found)
        return found
