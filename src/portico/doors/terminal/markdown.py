"""Splits a streamed Markdown text into blocks that will not change any more, and the rest that still may.

Where the text is split depends on the text alone, never on how it was cut into pieces, and every
character is looked at a bounded number of times, so a long answer costs time in proportion to its
length. A very long block is split too: a code fence every few lines, other blocks by size. How a
block looks is not decided here.
"""

import copy
import re
from typing import Literal

import msgspec

BlockKind = Literal["prose", "heading", "rule", "quote", "table", "item", "code"]

CODE_LINES = 24
BLOCK_SIZE = 4096

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})\s*([^\s`]*)")
_HEADING = re.compile(r"#{1,6}(\s|$)")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_UNDERLINE = re.compile(r"(-+|=+)[ \t]*$")
_ITEM = re.compile(r"([-+*]|\d{1,9}[.)])([ \t]+|$)")
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ONLY_MARKS = re.compile(r"[ \t]*([`~*_#>|=+:-]{1,40}|\d{1,9}[.)]?)[ \t]*")


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block: the `source` it was made from, exactly, and the `body` of it that is to be shown.

    `indent` counts the columns of the list items around it. A block that is `resumed` goes on
    with the one before; a resumed table brings its `header` again.
    """

    source: str
    body: str
    kind: BlockKind = "prose"
    indent: int = 0
    marker: str = ""
    language: str = ""
    header: str = ""
    resumed: bool = False


class _Fence(msgspec.Struct, frozen=True):
    mark: str
    indent: int
    language: str
    marker: str = ""

    def closed_by(self, line: str) -> bool:
        text = line.strip()
        return (
            len(text) >= len(self.mark)
            and set(text) == {self.mark[0]}
            and (_indent(line) - self.indent < 4 or not line.strip())
        )


class BlockSplitter:
    """Feed it text; it gives back each block once, as soon as the block is complete."""

    def __init__(self) -> None:
        self._partial: list[str] = []
        self._partial_size = 0
        self._midline = False
        self._lines: list[str] = []
        self._size = 0
        self._kind: BlockKind | None = None
        self._resumed = False
        self._containers: list[int] = []
        self._indent = 0
        self._marker = ""
        self._header = ""
        self._fence: _Fence | None = None

    @property
    def rest(self) -> str:
        """The text that is not part of a finished block yet."""
        return "".join((*self._lines, *self._partial))

    def feed(self, text: str) -> list[Block]:
        """Take more text; the blocks that it completed."""
        done: list[Block] = []
        start = 0
        while start < len(text):
            newline = text.find("\n", start)
            stop = len(text) if newline < 0 else newline + 1
            cut = self._cut_of_long_line(text, start, stop)
            stop = cut or stop
            self._partial.append(text[start:stop])
            self._partial_size += stop - start
            if cut or newline >= 0:
                self._take_line(done)
            start = stop
        return done

    def close(self) -> list[Block]:
        """The text has ended: what was open becomes a block as it is."""
        done: list[Block] = []
        if self._partial:
            self._take_line(done)
        if self._lines:
            self._finish(done)
        return done

    def preview(self) -> list[Block]:
        """How the open rest would look if the text ended now, without ending it.

        A last line of nothing but marks is left out, and an emphasis that is still open is
        closed, because both would change their look with the next word.
        """
        twin = copy.copy(self)
        twin._lines, twin._containers = list(self._lines), list(self._containers)
        twin._partial = [] if _ONLY_MARKS.fullmatch("".join(self._partial)) else list(self._partial)
        blocks = twin.close()
        if blocks and blocks[-1].kind not in ("code", "rule"):
            blocks[-1] = msgspec.structs.replace(blocks[-1], body=_settled(blocks[-1].body))
        return blocks

    def _cut_of_long_line(self, text: str, start: int, stop: int) -> int:
        """Where a line that is too long must be cut within text[start:stop], or 0."""
        line_start = start - self._partial_size
        last = line_start + 2 * BLOCK_SIZE
        space = text.find(" ", max(start, line_start + BLOCK_SIZE), min(stop, last))
        if space >= 0:
            return space + 1
        return last if last <= stop else 0

    def _take_line(self, done: list[Block]) -> None:
        line = "".join(self._partial)
        self._partial, self._partial_size = [], 0
        resumed_line, self._midline = self._midline, not line.endswith("\n")
        if resumed_line:
            self._append(line)
        elif self._fence is not None:
            self._take_code(line, self._fence, done)
        elif not line.strip():
            self._take_blank(line, done)
        else:
            self._take_text(line, done)
        if self._kind is not None and self._too_long():
            self._finish(done, goes_on=True)

    def _too_long(self) -> bool:
        return self._size >= BLOCK_SIZE or (self._fence is not None and len(self._lines) > CODE_LINES)

    def _take_code(self, line: str, fence: _Fence, done: list[Block]) -> None:
        self._append(line)
        if fence.closed_by(line):
            self._finish(done)

    def _take_blank(self, line: str, done: list[Block]) -> None:
        has_text = bool(self._lines) and self._kind is not None
        self._append(line)
        if has_text:
            self._finish(done)
        else:
            self._kind, self._resumed = None, False

    def _take_text(self, line: str, done: list[Block]) -> None:
        content = line.rstrip("\r\n")
        if self._kind is not None and self._goes_on(content):
            self._append(line)
            return
        if self._kind is not None:
            self._finish(done)
        self._leave_containers(_indent(content))
        self._begin(content)
        self._append(line)
        if self._kind in ("heading", "rule"):
            self._finish(done)

    def _goes_on(self, content: str) -> bool:
        """Whether a line belongs to the open block. May find out that the block is a table."""
        text = content.lstrip()
        if self._is_table_rule(text):
            self._kind = "table"
            self._header = "".join(self._lines).lstrip("\r\n") + content + "\n"
            return True
        opener = self._opener(content)
        if opener == "quote":
            return self._kind == "quote"
        if opener == "rule":
            return self._kind == "prose" and _UNDERLINE.match(text) is not None
        if opener == "item" and self._kind == "prose" and not self._containers:
            found = _ITEM.match(text)
            return found is not None and (not found[2] or found[1][:-1] not in ("", "1"))
        return opener == "prose"

    def _is_table_rule(self, text: str) -> bool:
        written = [line for line in self._lines if line.strip()]
        return (
            self._kind == "prose"
            and len(written) == 1
            and "|" in written[0]
            and "|" in text
            and _TABLE_RULE.match(text) is not None
        )

    def _opener(self, content: str) -> BlockKind:
        """What a line would begin if it stood by itself."""
        text = content.lstrip()
        indent = _indent(content)
        inner = max((column for column in self._containers if column <= indent), default=0)
        if indent - inner >= 4:
            return "prose"
        if _FENCE.match(text):
            return "code"
        if _HEADING.match(text):
            return "heading"
        if _RULE.match(text):
            return "rule"
        if _ITEM.match(text):
            return "item"
        return "quote" if text.startswith(">") else "prose"

    def _leave_containers(self, indent: int) -> None:
        while self._containers and indent < self._containers[-1]:
            self._containers.pop()

    def _begin(self, content: str) -> None:
        """Open a block with its first line."""
        text = content.lstrip()
        self._kind = self._opener(content)
        self._indent = self._containers[-1] if self._containers else 0
        self._marker = self._header = ""
        self._resumed = False
        if self._kind == "item":
            found = _ITEM.match(text)
            self._marker = found[1] if found else ""
            width = len(found[0]) if found and 1 <= len(found[2]) <= 4 else len(self._marker) + 1
            self._containers.append(_indent(content) + width)
            text = text[len(self._marker) :].lstrip()
        if found := _FENCE.match(text):
            if self._kind in ("code", "item"):
                self._kind = "code"
                inner = self._containers[-1] if self._marker else _indent(content)
                self._fence = _Fence(found[1], inner, found[2], self._marker)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)

    def _finish(self, done: list[Block], *, goes_on: bool = False) -> None:
        """Give out what is open; what comes next is its continuation if it `goes_on`."""
        if self._lines:
            done.append(self._block())
        closed = self._fence is not None and len(self._lines) > (not self._resumed)
        if self._fence is not None and not goes_on and closed:
            self._fence = None
        self._lines, self._size = [], 0
        self._resumed = goes_on
        if not goes_on:
            self._kind = None

    def _block(self) -> Block:
        source = "".join(self._lines)
        lines = [line.rstrip("\r\n") for line in self._lines]
        while lines and not lines[0].strip():
            lines.pop(0)
        return Block(source=source, body="")
