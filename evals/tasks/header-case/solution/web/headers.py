"""Headers of a request or a response."""


class Headers:
    """Names are found in any case, and sent as they were set last."""

    def __init__(self, items=()):
        self._items = {}
        for name, value in items:
            self.set(name, value)

    def set(self, name, value):
        self._items[name.lower()] = (name, value)

    def get(self, name, default=None):
        return self._items[name.lower()][1] if name in self else default

    def delete(self, name):
        self._items.pop(name.lower(), None)

    def __contains__(self, name):
        return name.lower() in self._items

    def __len__(self):
        return len(self._items)

    def lines(self):
        """Return the headers as they are sent."""
        return [f"{name}: {value}" for name, value in self._items.values()]
