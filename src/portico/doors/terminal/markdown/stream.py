"""Streamed Markdown answer: finished blocks are rendered once, the open block on every frame."""

import copy
from collections.abc import Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from portico.doors.terminal.layout import PrefixedLines, indented
from portico.doors.terminal.markdown.blocks import BlockSplitter, MarkdownBlock
from portico.doors.terminal.markdown.highlighter import highlight
from portico.doors.terminal.markdown.prose import ProseRenderer
from portico.doors.terminal.sanitizer import clean
from portico.doors.terminal.theme import DIM, GOOD, Signs

_CODE_INDENT = 2
_LIVE_ROWS = 30


class BlockRenderer:
    """Knows the block before, for the blank line between two and for the colours of a long fence."""

    def __init__(self, signs: Signs, *, links: bool) -> None:
        self._signs = signs
        self._prose = ProseRenderer(signs, links=links)
        self._before: MarkdownBlock | None = None
        self._carried = ""

    def paint(self, blocks: Sequence[MarkdownBlock]) -> list[RenderableType]:
        """The blocks to be shown after those painted before; none for a block without text."""
        painted: list[RenderableType] = []
        for block in blocks:
            if not block.body.strip():
                continue
            if self._gap_before(block):
                painted.append(Text())
            painted.append(self.paint_one(block))
            self._before = block
        return painted

    def paint_one(self, block: MarkdownBlock) -> RenderableType:
        body = self._code(block) if block.kind == "code" else self._text(block)
        return indented(body, block.indent)

    def twin(self) -> "BlockRenderer":
        """Another that goes on from here, to look ahead with."""
        return copy.copy(self)

    def _gap_before(self, block: MarkdownBlock) -> bool:
        before = self._before
        if before is None or block.resumed:
            return False
        if before.kind == "heading":
            return block.kind == "heading"
        if before.kind == block.kind == "item" and before.indent == block.indent:
            return before.marker[:-1].isdigit() != block.marker[:-1].isdigit()
        return not all(one.kind == "item" or (one.indent and one.kind != "code") for one in (before, block))

    def _code(self, block: MarkdownBlock) -> RenderableType:
        text, self._carried = highlight(block.body, block.language, self._carried if block.resumed else "")
        shown = indented(text, _CODE_INDENT)
        return self._prose.item(block.marker, shown) if block.marker else shown

    def _text(self, block: MarkdownBlock) -> RenderableType:
        if block.kind != "item":
            return self._prose.render(block.header + block.body)
        box, body = block.body[:4].lower(), block.body
        if box in ("[ ] ", "[x] "):
            done = box == "[x] "
            sign, style = (self._signs.done, GOOD) if done else (self._signs.pending, DIM)
            return PrefixedLines(self._prose.render(body[4:]), f"{sign} ", style)
        return self._prose.item(clean(block.marker), self._prose.render(body))


class StreamedMarkdown:
    """One message of the agent as it grows."""

    def __init__(self, signs: Signs, *, links: bool) -> None:
        self._splitter = BlockSplitter()
        self._painter = BlockRenderer(signs, links=links)

    def add(self, text: str) -> list[RenderableType]:
        """The blocks that the new text completes."""
        return self._painter.paint(self._splitter.feed(text))

    def open_part(self) -> RenderableType | None:
        """The part that may still change, as it looks now."""
        parts = self._painter.twin().paint([_end_of_table(block) for block in self._splitter.preview()])
        return Group(*parts) if parts else None

    def close(self) -> list[RenderableType]:
        return self._painter.paint(self._splitter.close())


def _end_of_table(block: MarkdownBlock) -> MarkdownBlock:
    """The last rows of a table that is still growing: laying out all of it for each frame would be slow."""
    rows = block.body.split("\n")
    if block.kind != "table" or len(rows) <= _LIVE_ROWS:
        return block
    header = "" if block.resumed else "\n".join(rows[:2]) + "\n"
    return msgspec.structs.replace(block, body=header + "\n".join(rows[-_LIVE_ROWS:]))
