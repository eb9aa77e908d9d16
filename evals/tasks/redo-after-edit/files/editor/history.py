"""The steps of a document that can be undone and done again."""


class History:
    def __init__(self):
        self._done = []
        self._undone = []

    def record(self, step):
        self._done.append(step)

    def undo(self):
        """Return the step to take back."""
        step = self._done.pop()
        self._undone.append(step)
        return step

    def redo(self):
        """Return the step to do again."""
        step = self._undone.pop()
        self._done.append(step)
        return step
