"""Tells listeners of events."""


class Bus:
    def __init__(self):
        self._listeners = {}

    def add(self, kind, listener):
        """Call a listener for each event of a kind. Returns a function that removes it again."""
        # The key tells two additions of one listener apart.
        key = object()
        self._listeners.setdefault(kind, {})[key] = listener

        def remove():
            self._listeners[kind].pop(key, None)

        return remove

    def send(self, kind, value):
        listeners = self._listeners.get(kind, {})
        for key, listener in list(listeners.items()):
            if key in listeners:
                listener(value)
