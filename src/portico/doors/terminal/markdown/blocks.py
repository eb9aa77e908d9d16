"""Splitter of streamed Markdown into finished blocks and the part that may still change.

Where the text is split depends on the text alone, never on how it was cut into pieces, and every
character is looked at a bounded number of times: a long answer costs time in proportion to its
length. A very long block is split too, a code fence every few lines and anything else by size.
How a block looks is not decided here.
"""

import copy

import msgspec

from portico.doors.terminal.markdown import line_rules as rules
from portico.doors.terminal.markdown.line_rules import BlockKind, CodeFence

CODE_LINES = 24
BLOCK_SIZE = 4096


class MarkdownBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One block: the `source` it was made from, exactly, and the `body` of it that is to be shown.

    `indent` counts the columns of the list items around it. A block that is `resumed` goes on
    with the one before; a resumed table has its `header` again.
    """

    source: str
    body: str
    kind: BlockKind
    indent: int = 0
    marker: str = ""
    language: str = ""
    header: str = ""
    resumed: bool = False


class _OpenBlock:
    """The block that is being written: its lines so far, after the blank lines before it."""

    def __init__(self, kind: BlockKind, blanks: list[str], indent: int) -> None:
        self.kind = kind
        self.lines = blanks
        self.blanks = len(blanks)
        self.indent = indent
        self.marker = ""
        self.text_indent = indent
        self.header = ""
        self.fence: CodeFence | None = None
        self.fence_closed = False
        self.resumed = False
        self.size = 0

    def __copy__(self) -> "_OpenBlock":
        twin = object.__new__(_OpenBlock)
        vars(twin).update(vars(self), lines=list(self.lines))
        return twin

    def append(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line)

    @property
    def only_line(self) -> str:
        """The line it consists of, as long as there is just one."""
        return self.lines[-1] if len(self.lines) == self.blanks + 1 else ""

    def exceeds(self, block_size: int, code_lines: int) -> bool:
        lines = len(self.lines) - self.blanks
        return self.size >= block_size or (self.fence is not None and lines > code_lines)

    def finished(self) -> MarkdownBlock:
        return MarkdownBlock(
            source="".join(self.lines),
            body=self._body(),
            kind=self.kind,
            indent=self.indent,
            marker=self.marker,
            language=self.fence.language if self.fence else "",
            header=self.header if self.resumed else "",
            resumed=self.resumed,
        )

    def continuation(self) -> "_OpenBlock":
        """The block that continues this one after it was returned."""
        kind: BlockKind = "prose" if self.kind in ("item", "heading") else self.kind
        twin = _OpenBlock(kind, [], self.text_indent)
        twin.header, twin.fence, twin.resumed = self.header, self.fence, True
        return twin

    def _body(self) -> str:
        lines = [line.rstrip("\r\n") for line in self.lines[self.blanks :]]
        if self.fence is not None:
            lines = lines[not self.resumed : len(lines) - self.fence_closed]
            return "\n".join(rules.dedent(line, self.fence.indent) for line in lines)
        if self.kind == "item" and lines:
            first = rules.item_of(lines[0]).text
            return "\n".join((first, *(rules.dedent(line, self.text_indent) for line in lines[1:]))).rstrip()
        return "\n".join(rules.dedent(line, self.indent) for line in lines).rstrip()


class BlockSplitter:
    """Takes text as it comes, and gives back each block once, as soon as it is complete."""

    def __init__(self, *, block_size: int = BLOCK_SIZE, code_lines: int = CODE_LINES) -> None:
        self._block_size = block_size
        self._code_lines = code_lines
        self._partial: list[str] = []
        self._partial_size = 0
        self._midline = False
        self._blanks: list[str] = []
        self._open: _OpenBlock | None = None
        self._containers: list[int] = []

    @property
    def rest(self) -> str:
        """The text that is not part of a finished block yet."""
        return "".join((*self._blanks, *(self._open.lines if self._open else ()), *self._partial))

    def feed(self, text: str) -> list[MarkdownBlock]:
        """Take more text; the blocks that it completed."""
        done: list[MarkdownBlock] = []
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

    def close(self) -> list[MarkdownBlock]:
        """The text has ended: what was open becomes a block as it is."""
        done: list[MarkdownBlock] = []
        if self._partial:
            self._take_line(done, last=True)
        if self._open is not None:
            self._finish(self._open, done)
        self._give_blanks(done)
        return done

    def preview(self) -> list[MarkdownBlock]:
        """The rest as it would look if the text ended now, without ending it.

        A last line of nothing but marks is left out, and an emphasis that is still open is
        closed: both would change their look with the next word.
        """
        blocks = copy.copy(self).close()
        if blocks and blocks[-1].kind not in ("code", "rule"):
            blocks[-1] = msgspec.structs.replace(blocks[-1], body=rules.close_open_spans(blocks[-1].body))
        return blocks

    def __copy__(self) -> "BlockSplitter":
        twin = object.__new__(BlockSplitter)
        partial = [] if rules.only_marks("".join(self._partial)) else list(self._partial)
        vars(twin).update(vars(self), _partial=partial, _open=copy.copy(self._open))
        vars(twin).update(_blanks=list(self._blanks), _containers=list(self._containers))
        return twin

    def _cut_of_long_line(self, text: str, start: int, stop: int) -> int:
        """The position at which text[start:stop] must be cut because its line is too long, or 0."""
        line_start = start - self._partial_size
        last = line_start + 2 * self._block_size
        space = text.find(" ", max(start, line_start + self._block_size), min(stop, last))
        if space >= 0:
            return space + 1
        return last if last <= stop else 0

    def _take_line(self, done: list[MarkdownBlock], *, last: bool = False) -> None:
        line = "".join(self._partial)
        self._partial, self._partial_size = [], 0
        rest_of_line, self._midline = self._midline, not (last or line.endswith("\n"))
        block = self._open
        if rest_of_line and block is not None:
            block.append(line)
        elif block is not None and block.fence is not None:
            block.append(line)
            block.fence_closed = not self._midline and block.fence.closed_by(line)
            if block.fence_closed:
                self._finish(block, done)
        elif not line.strip():
            self._take_blank(line, done)
        else:
            self._take_text(line, done)
        if self._open is not None and self._open.exceeds(self._block_size, self._code_lines):
            self._finish(self._open, done, goes_on=True)

    def _take_blank(self, line: str, done: list[MarkdownBlock]) -> None:
        if self._open is not None and self._open.lines:
            self._open.append(line)
            self._finish(self._open, done)
        else:
            self._open = None
            self._blanks.append(line)
            if len(self._blanks) > self._code_lines:
                self._give_blanks(done)

    def _take_text(self, line: str, done: list[MarkdownBlock]) -> None:
        if self._open is not None and self._belongs(line, self._open):
            self._open.append(line)
            return
        if self._open is not None:
            self._finish(self._open, done)
        self._open = self._begun(line)
        self._open.append(line)
        if self._open.kind in ("heading", "rule") and not self._midline:
            self._finish(self._open, done)

    def _belongs(self, line: str, block: _OpenBlock) -> bool:
        """Whether a line is part of the open block; it may turn the block into a table."""
        if block.kind == "prose" and rules.divides_table(block.only_line, line):
            block.kind = "table"
            block.header = f"{block.only_line.strip()}\n{line.strip()}\n"
            return True
        match rules.opening_kind(line, self._containers):
            case "prose":
                return True
            case "quote":
                return block.kind == "quote"
            case "rule":
                return block.kind == "prose" and rules.underlines(line)
            case "item":
                in_text = block.kind == "prose" and not self._containers
                return in_text and not rules.interrupts_paragraph(line)
            case _:
                return False

    def _begun(self, line: str) -> _OpenBlock:
        """A new block for a line that begins one."""
        indent = rules.indent_of(line)
        while self._containers and indent < self._containers[-1]:
            self._containers.pop()
        kind = rules.opening_kind(line, self._containers)
        block = _OpenBlock(kind, self._blanks, self._containers[-1] if self._containers else 0)
        self._blanks = []
        if kind == "item":
            item = rules.item_of(line)
            block.marker, block.text_indent = item.marker, indent + item.width
            self._containers.append(block.text_indent)
            block.fence = rules.fence_of(item.text, block.text_indent)
            block.kind = "code" if block.fence else "item"
        elif kind == "code":
            block.fence = rules.fence_of(line, indent)
        return block

    def _finish(self, block: _OpenBlock, done: list[MarkdownBlock], *, goes_on: bool = False) -> None:
        """Give the open block out; `goes_on` when what follows is its continuation."""
        if block.lines:
            done.append(block.finished())
        self._open = block.continuation() if goes_on else None

    def _give_blanks(self, done: list[MarkdownBlock]) -> None:
        if self._blanks:
            done.append(MarkdownBlock(source="".join(self._blanks), body="", kind="prose"))
            self._blanks = []
