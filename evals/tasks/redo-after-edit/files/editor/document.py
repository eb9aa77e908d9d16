"""A document that is edited by replacing parts of its text."""

from dataclasses import dataclass

from editor.history import History


@dataclass(frozen=True)
class Replace:
    place: int
    old: str
    new: str


class Document:
    def __init__(self, text=""):
        self.text = text
        self._history = History()

    def replace(self, place, length, new):
        step = Replace(place, self.text[place : place + length], new)
        self._apply(step.place, step.old, step.new)
        self._history.record(step)

    def append(self, new):
        self.replace(len(self.text), 0, new)

    def undo(self):
        step = self._history.undo()
        self._apply(step.place, step.new, step.old)

    def redo(self):
        step = self._history.redo()
        self._apply(step.place, step.old, step.new)

    def _apply(self, place, old, new):
        self.text = self.text[:place] + new + self.text[place + len(old) :]
