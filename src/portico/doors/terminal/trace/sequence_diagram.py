"""Sequence diagram in text: a lifeline per node of the chain, an arrow per message.

Labels stand beside the arrows, so that they can be read at any width.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from portico.conductor.tracing.records import AGENT, EDITOR, TraceFault
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import ACCENT, BAD, CAUTION, DIM, STRONG
from portico.doors.terminal.trace.diagram_labels import Line, Piece, Strokes, later, offset, row_words
from portico.doors.terminal.trace.diagram_rows import LONG_MS, DiagramRow
from portico.doors.terminal.trace.frame_summary import truncate

_TIME = 9
_WIDEST_GAP = 14
_NARROWEST_GAP = 3
_FEWEST_WORDS = 49
_WORDS_SHARE = 55
_LEAST_WORDS = 8
_CALLS = {"request": ACCENT, "response": "", "notification": "", "unreadable": BAD}


class SequenceDiagram:
    """Diagram of one chain, line by line. Times are relative to `start`."""

    def __init__(self, links: Sequence[str], *, start: int, width: int, strokes: Strokes) -> None:
        self._links = {link: place for place, link in enumerate(links)}
        self._start = start
        self._now = start
        self._shown_time = ""
        self._strokes = strokes
        gaps = max(1, len(links) - 1)
        words = max(_FEWEST_WORDS, width * _WORDS_SHARE // 100)
        gap = (width - _TIME - 4 - words) // gaps
        self._gap = min(_WIDEST_GAP, max(_NARROWEST_GAP, gap))
        self._span = self._gap * gaps + 1
        self.words_width = max(_LEAST_WORDS, width - _TIME - 1 - self._span - 2)
        self.marks: set[str] = set()

    def top(self) -> Iterator[Line]:
        """Names of the nodes, above the lifelines."""
        yield from self._flags(self._strokes.top, list(self._links))

    def bottom(self) -> Iterator[Line]:
        """Names of the nodes, below the lifelines."""
        yield from reversed(list(self._flags(self._strokes.bottom, list(self._links))))

    def row(self, row: DiagramRow) -> Iterator[Line]:
        """An arrow with its label."""
        yield from self._waited(row.at)
        failed = row.step.error is not None
        first, *rest = row_words(row, self.words_width, self._strokes)
        yield self._line(
            self._arrow(row, BAD if failed else _CALLS[row.step.kind]), first, self._time(row.at)
        )
        for words in rest:
            yield self.aside(words)
        self._now = max(self._now, row.until)

    def fault(self, at: int, fault: TraceFault) -> Iterator[Line]:
        """A message that was not forwarded."""
        yield from self._waited(at)
        cells = self._lifelines()
        place = self._x(fault.sender)
        onward = 1 if place == 0 else -1
        reach = max(1, self._gap // 2)
        cells[place] = (self._strokes.leaving[0 if onward == 1 else 1], BAD)
        for distance in range(1, reach):
            cells[place + onward * distance] = (self._strokes.solid, BAD)
        cells[place + onward * reach] = (self._strokes.lost, BAD)
        what = clean_line(f"{fault.kind}: {fault.detail}")
        yield self._line(cells, ((truncate(what, self.words_width), BAD),), self._time(at))
        if fault.sample:
            yield self.aside(((truncate(f"  {clean_line(fault.sample)}", self.words_width), DIM),))

    def gone(self, at: int, link: str, words: str) -> Iterator[Line]:
        """The end of the chain, at the lifeline of the node that ended it."""
        yield from self._waited(at)
        cells = self._lifelines()
        style = BAD if link == AGENT else DIM
        if link in self._links:
            cells[self._x(link)] = (self._strokes.lost, style)
        yield self._line(cells, ((truncate(words, self.words_width), style),), self._time(at))

    def aside(self, words: Line) -> Line:
        """More text beside the lifelines."""
        return self._line(self._lifelines(), words, "")

    def noted(self, link: str, words: Line) -> Line:
        """Text about one hop."""
        cells = self._lifelines()
        if link in self._links:
            cells[self._x(link)] = (self._strokes.seen, DIM)
        return self._line(cells, words, "")

    def _arrow(self, row: DiagramRow, style: str) -> list[Piece]:
        cells, strokes = self._lifelines(), self._strokes
        start, end = self._ends(row.path)
        right = start < end
        stroke = strokes.dashed if row.step.kind == "response" else strokes.solid
        lives = {self._x(link) for link in self._links}
        for x in range(min(start, end) + 1, max(start, end)):
            cells[x] = (strokes.crossing if x in lives else stroke, style)
        if start != end:
            tips = strokes.news if row.step.kind == "notification" else strokes.call
            cells[end - 1 if right else end + 1] = (tips[0 if right else 1], style)
        leaving = strokes.leaving[0 if right else 1] if start in lives else strokes.seen
        cells[start] = (leaving, style)
        for link, mark in row.marks.items():
            if link in self._links:
                sign = (strokes.changed, CAUTION) if mark == "changed" else (strokes.seen, style)
                cells[self._x(link)] = sign
                self.marks.add(mark)
        if any(cells[x][0] == strokes.crossing for x in lives):
            self.marks.add("passed")
        return cells

    def _ends(self, path: Sequence[str]) -> tuple[int, int]:
        """Start and end of an arrow. The conductor has no lifeline of its own and stands beside the other end."""
        first, last = path[0], path[-1]
        beside = self._gap // 2 + 1
        if first not in self._links:
            end = self._x(last)
            return (end + beside if end == 0 else end - beside), end
        if last not in self._links:
            start = self._x(first)
            return start, (start + beside if start == 0 else start - beside)
        return self._x(first), self._x(last)

    def _x(self, link: str) -> int:
        return self._links.get(link, self._links.get(EDITOR, 0)) * self._gap

    def _lifelines(self, stroke: str | None = None) -> list[Piece]:
        cells: list[Piece] = [(" ", "")] * self._span
        for place in self._links.values():
            cells[place * self._gap] = (stroke or self._strokes.life, DIM)
        return cells

    def _flags(self, corner: str, links: Sequence[str]) -> Iterator[Line]:
        for place, link in enumerate(links):
            before = " " * (_TIME + 1) + f"{self._strokes.life:<{self._gap}}" * place
            name = truncate(clean_line(link), self._span + self.words_width - place * self._gap)
            yield ((before, DIM), (corner, DIM), (f" {name}", STRONG))

    def _waited(self, at: int) -> Iterator[Line]:
        """A pause that is worth showing."""
        if at - self._now >= LONG_MS:
            words = later(at - self._now)
            yield self._line(
                self._lifelines(self._strokes.pause), ((truncate(words, self.words_width), DIM),), ""
            )
        self._now = max(self._now, at)

    def _time(self, at: int) -> str:
        """The time, once for everything within a millisecond."""
        time = offset(at - self._start)
        if time == self._shown_time:
            return ""
        self._shown_time = time
        return time

    def _line(self, cells: Sequence[Piece], words: Line, time: str) -> Line:
        drawn = tuple(
            ("".join(sign for sign, _ in group), style)
            for style, group in groupby(cells, key=lambda cell: cell[1])
        )
        return ((f"{time:>{_TIME}} ", DIM), *drawn, ("  ", ""), *words)
