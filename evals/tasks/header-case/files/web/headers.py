"""Headers of a request or a response."""


class Headers:
    def __init__(self, items=()):
        self._items = {}
        for name, value in items:
            self.set(name, value)

    def set(self, name, value):
        self._items[name] = value

    def get(self, name, default=None):
        return self._items.get(name, default)

    def delete(self, name):
        self._items.pop(name, None)

    def __contains__(self, name):
        return name in self._items

    def __len__(self):
        return len(self._items)

    def lines(self):
        """Return the headers as they are sent."""
        return [f"{name}: {value}" for name, value in self._items.items()]
