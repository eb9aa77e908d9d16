"""Prompts from the catalog in the chat line, and their blanks, shown as {{ name }}, to fill in before sending."""

from collections.abc import Iterable, Iterator

import msgspec

from portico.domain.catalog import PromptBlank


class ChatPrompt(msgspec.Struct, frozen=True):
    """A prompt from the catalog: its name, its text, and the blanks in that text."""

    name: str
    description: str
    text: str
    blanks: tuple[PromptBlank, ...] = ()


class BlankSpan(msgspec.Struct, frozen=True):
    """Position of a blank in the text; `end` is exclusive."""

    start: int
    end: int
    blank: PromptBlank


class BlankTracker:
    """Finds the blanks of inserted prompts. The same text typed by hand is not a blank."""

    def __init__(self) -> None:
        self._offered: dict[str, tuple[PromptBlank, ...]] = {}
        self._taken: set[PromptBlank] = set()

    def offer(self, text: str, blanks: tuple[PromptBlank, ...]) -> None:
        """Remember the blanks of a prompt that may be inserted."""
        if blanks:
            self._offered[text] = blanks

    def look(self, before_cursor: str) -> bool:
        """Notice a prompt that was just inserted before the cursor; whether it has blanks."""
        self._taken.update(self._offered.get(before_cursor, ()))
        return before_cursor in self._offered

    def find(self, text: str, start: int = 0) -> BlankSpan | None:
        """The next open blank from a position on, or else the first."""
        spans = sorted(_spans(text, self._taken), key=lambda span: span.start)
        return next((span for span in spans if span.start >= start), spans[0] if spans else None)

    def forget(self) -> None:
        """Forget all blanks, after sending or clearing."""
        self._taken.clear()


def blank_mark(name: str) -> str:
    """A blank as it appears in the text."""
    return f"{{{{ {name} }}}}"


def _spans(text: str, blanks: Iterable[PromptBlank]) -> Iterator[BlankSpan]:
    for blank in blanks:
        mark = blank_mark(blank.name)
        start = text.find(mark)
        while start >= 0:
            yield BlankSpan(start, start + len(mark), blank)
            start = text.find(mark, start + len(mark))
