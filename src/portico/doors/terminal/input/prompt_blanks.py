"""Prompts from the catalog in the chat line, and their blanks, shown as {{ name }}, to fill in before sending."""

from collections.abc import Iterable, Iterator

import msgspec


class Blank(msgspec.Struct, frozen=True):
    """One thing to be said; the description is for the person, and may be empty."""

    name: str
    description: str = ""

    @property
    def mark(self) -> str:
        """How it stands in the text."""
        return f"{{{{ {self.name} }}}}"


class KeptPrompt(msgspec.Struct, frozen=True):
    """A prompt from the catalog: its name, its text, and the blanks in that text."""

    name: str
    description: str
    text: str
    blanks: tuple[Blank, ...] = ()


class BlankSpan(msgspec.Struct, frozen=True):
    """Where a blank stands, from the first character of its mark to the one behind it."""

    start: int
    end: int
    blank: Blank


class BlankTracker:
    """Only those of prompts that were taken count: whoever types such a mark by hand means it."""

    def __init__(self) -> None:
        self._offered: dict[str, tuple[Blank, ...]] = {}
        self._taken: set[Blank] = set()

    def offer(self, text: str, blanks: tuple[Blank, ...]) -> None:
        """A prompt can be taken from now on: then its text stands before the cursor."""
        if blanks:
            self._offered[text] = blanks

    def look(self, before_cursor: str) -> bool:
        """Notice a prompt that has just been taken; whether one was, and leaves something open."""
        self._taken.update(self._offered.get(before_cursor, ()))
        return before_cursor in self._offered

    def find(self, text: str, start: int = 0) -> BlankSpan | None:
        """The first that is open from a place on, or else from the beginning."""
        places = sorted(_places(text, self._taken), key=lambda place: place.start)
        return next((place for place in places if place.start >= start), places[0] if places else None)

    def forget(self) -> None:
        """The text is sent, or thrown away."""
        self._taken.clear()


def _places(text: str, blanks: Iterable[Blank]) -> Iterator[BlankSpan]:
    for blank in blanks:
        start = text.find(blank.mark)
        while start >= 0:
            yield BlankSpan(start, start + len(blank.mark), blank)
            start = text.find(blank.mark, start + len(blank.mark))
