"""Tells listeners of events."""


class Bus:
    def __init__(self):
        self._listeners = {}

    def add(self, kind, listener):
        """Call a listener for each event of a kind. Returns a function that removes it again."""
        self._listeners.setdefault(kind, []).append(listener)
        return lambda: self._listeners[kind].remove(listener)

    def send(self, kind, value):
        for listener in self._listeners.get(kind, []):
            listener(value)
