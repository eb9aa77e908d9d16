"""The steps of a document that can be undone and done again."""


class History:
    def __init__(self):
        self._done = []
        self._undone = []

    def record(self, step):
        self._done.append(step)
        self._undone.clear()

    def undo(self):
        """Return the step to take back, or None."""
        return _move(self._done, self._undone)

    def redo(self):
        """Return the step to do again, or None."""
        return _move(self._undone, self._done)


def _move(source, target):
    if not source:
        return None
    target.append(source.pop())
    return target[-1]
