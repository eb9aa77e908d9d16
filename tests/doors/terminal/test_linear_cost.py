"""A long answer costs work in proportion to its length. Work is counted, not timed."""

from collections.abc import Sequence

import pytest
from rich.console import RenderableType

from portico.doors.terminal.markdown.blocks import MarkdownBlock
from portico.doors.terminal.markdown.stream import BlockRenderer
from tests.doors.terminal.support import RUNNING, Stage, ended, text


class Counter:
    """Counts what is painted: characters of blocks for good, and of all including previews."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.blocks = 0
        self.characters = 0
        paint = BlockRenderer.paint

        def counted(painter: BlockRenderer, blocks: Sequence[MarkdownBlock]) -> list[RenderableType]:
            self.blocks += len(blocks)
            self.characters += sum(len(block.source) for block in blocks)
            return paint(painter, blocks)

        monkeypatch.setattr(BlockRenderer, "paint", counted)


def answer_of(size: int, kind: str) -> str:
    unit = {
        "paragraphs": "Some words of a paragraph that is as long as most are.\n\n",
        "one line": "words without an end ",
        "one word": "x" * 20,
        "a fence": "value = compute(1, 2)  # what it says\n",
        "a list": "- an item with a few words\n",
        "a table": "| a cell | another cell |\n",
        "blank lines": "\n",
    }[kind]
    before = {"a fence": "```python\n", "a table": "| a | b |\n|---|---|\n"}.get(kind, "")
    return before + unit * (size // len(unit))


@pytest.mark.parametrize(
    "kind", ["paragraphs", "one line", "one word", "a fence", "a list", "a table", "blank lines"]
)
def test_twice_the_answer_is_twice_the_work(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[int] = []
    for size in (40_000, 80_000):
        counter = Counter(monkeypatch)
        stage = Stage(height=30)
        whole = answer_of(size, kind)
        pieces = [whole[start : start + 400] for start in range(0, len(whole), 400)]
        stage.show(RUNNING, *(text(piece) for piece in pieces), ended())
        work.append(counter.characters)
        monkeypatch.undo()
    assert work[1] <= 2.2 * work[0] + 10_000


def test_each_block_is_painted_for_good_once_however_many_pieces_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = Counter(monkeypatch)
    stage = Stage()
    whole = answer_of(20_000, "paragraphs")
    stage.show(RUNNING, *(text(character) for character in whole), pause=0.0)
    stage.end()
    paragraphs = whole.count("\n\n")
    assert stage.screen.raw.count("Some words") == paragraphs
    assert counter.blocks <= paragraphs + 4


def test_a_burst_of_events_is_drawn_at_most_twenty_times_a_second() -> None:
    stage = Stage()
    frames_before = stage.screen.raw.count("\x1b[?2026h")
    stage.show(RUNNING, *(text("word ") for _ in range(1000)), pause=0.001)
    frames = stage.screen.raw.count("\x1b[?2026h") - frames_before
    assert 15 <= frames <= 22
