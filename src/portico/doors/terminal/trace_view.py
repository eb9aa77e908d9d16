"""Shows a trace on an output: each chain with its heading, its sequence, and what there is to say at the end."""

from collections.abc import Callable, Iterator
from typing import TextIO

import msgspec

from portico.conductor.tracing.reading import TracedChain, TraceFile
from portico.conductor.tracing.records import AGENT, EDITOR, Closed, Faulted, Opened, Passed, Wired
from portico.conductor.tracing.steps import Follower, Step, content, meaning, milliseconds
from portico.doors.terminal.gist import cut
from portico.doors.terminal.look import BAD, DIM, STRONG, signs_for
from portico.doors.terminal.phrasing import counted
from portico.doors.terminal.renderers import suits_plain, writer
from portico.doors.terminal.sanitize import clean_line
from portico.doors.terminal.sequence import Diagram
from portico.doors.terminal.sequence_rows import Row, Rows
from portico.doors.terminal.sequence_words import (
    ASCII_STROKES,
    UNICODE_STROKES,
    Line,
    Strokes,
    method_of,
    short_id,
    took,
    whole_body,
)

_DEFAULT_WIDTH = 80
_WIDEST = 160
_LEGEND = {
    "seen": ("seen", "looked at and let go on"),
    "changed": ("changed", "changed"),
    "passed": ("crossing", "passed by"),
}
_ENDINGS = {"client": "the editor hung up", "agent": "the agent is gone", "conductor": "stopped"}


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """How to show it. `lines` limits it to some lines of the file; `full` folds nothing and shows whole frames."""

    width: int = _DEFAULT_WIDTH
    strokes: Strokes = UNICODE_STROKES
    full: bool = False
    lines: frozenset[int] | None = None


def show_trace(
    file: TraceFile,
    chains: tuple[TracedChain, ...],
    output: TextIO,
    *,
    term: str,
    columns: int | None,
    full: bool = False,
    lines: frozenset[int] | None = None,
) -> None:
    """Draw chains of a trace. `columns` is how wide the output is, if it has a width."""
    width = min(columns or _DEFAULT_WIDTH, _WIDEST)
    strokes = UNICODE_STROKES if signs_for(output.encoding).unicode else ASCII_STROKES
    look = Look(width=width, strokes=strokes, full=full, lines=lines)
    write = _plain(output) if suits_plain(output, term) else _coloured(output)
    for place, chain in enumerate(chains):
        if place:
            write(())
        for line in draw_chain(file, chain, look):
            write(line)


def draw_chain(file: TraceFile, chain: TracedChain, look: Look) -> Iterator[Line]:
    """One chain, from its heading to its last words."""
    drawing = _Drawing(file, chain, look)
    yield drawing.heading()
    yield ()
    yield from drawing.body()
    yield from drawing.ending()


class _Drawing:
    def __init__(self, file: TraceFile, chain: TracedChain, look: Look) -> None:
        self._file = file
        self._chain = chain
        self._look = look
        self._start = milliseconds(chain.at)
        self._last = self._start
        self._diagram = Diagram(chain.links, start=self._start, width=look.width, strokes=look.strokes)
        self._rows = Rows(folding=not look.full)
        self._follower = Follower()
        self._frames = 0
        self._errors = 0
        self._drawn = 0

    def heading(self) -> Line:
        when = self._chain.at.replace("T", " ").removesuffix("Z")
        return ((f"chain {self._chain.number}", STRONG), (f"  {clean_line(when)} UTC", DIM))

    def body(self) -> Iterator[Line]:
        yield from self._diagram.top()
        for number, record in self._file.records(self._chain):
            wanted = self._look.lines is None or number in self._look.lines
            match record:
                case Passed():
                    step = self._follower.take(number, record)
                    if wanted:
                        yield from self._take(step)
                case Faulted() if wanted:
                    yield from self._flush()
                    self._errors += 1
                    yield from self._diagram.fault(milliseconds(record.at), record)
                case Wired() if wanted and self._look.full:
                    yield from self._flush()
                    yield from self._wire(record)
                case Closed(at=at, gone=gone) if self._look.lines is None:
                    yield from self._flush()
                    link = {"client": EDITOR, "agent": AGENT}.get(gone, "")
                    yield from self._diagram.gone(milliseconds(at), link, _ENDINGS[gone])
                case Opened() | Faulted() | Wired() | Closed():
                    pass
            self._last = max(self._last, milliseconds(record.at)) if wanted else self._last
        yield from self._flush()
        yield from self._diagram.bottom()

    def ending(self) -> Iterator[Line]:
        lasted = took(max(0, self._last - self._start))
        facts = [f"{counted(self._frames, 'frame')} in {lasted}"]
        facts += [counted(self._drawn, "arrow")] if self._drawn < self._frames else []
        yield ()
        yield (
            (", ".join(facts), DIM),
            *(((", " + counted(self._errors, "error"), BAD),) if self._errors else ()),
        )
        signs = [
            f"{getattr(self._look.strokes, sign)} {meaning}"
            for mark, (sign, meaning) in _LEGEND.items()
            if mark in self._diagram.marks
        ]
        if signs:
            yield ((cut("   ".join(signs), self._look.width), DIM),)
        if self._look.lines is None:
            for one in self._follower.waiting:
                waited = took(max(0, self._last - one.at))
                words = (
                    f"{one.link} still waits for {clean_line(one.method)} {short_id(one.id)} after {waited}"
                )
                yield ((cut(words, self._look.width), BAD),)

    def _take(self, step: Step) -> Iterator[Line]:
        self._frames += 1
        for row in self._rows.take(step):
            yield from self._draw(row)

    def _flush(self) -> Iterator[Line]:
        for row in self._rows.end():
            yield from self._draw(row)

    def _draw(self, row: Row) -> Iterator[Line]:
        self._drawn += 1
        self._errors += row.step.error is not None
        yield from self._diagram.row(row)
        width = self._diagram.words_width
        for step in row.steps:
            if step.changed:
                yield self._diagram.aside(((cut(f"from {clean_line(step.sender)} on:", width), DIM),))
            if step.changed != ():
                for words in whole_body(content(step), width):
                    yield self._diagram.aside(words)

    def _wire(self, record: Wired) -> Iterator[Line]:
        """What a program really got or sent, beside its lifeline."""
        frame = meaning(record.frame)
        how = "gets" if record.direction == "sent" else "sends"
        what = {"response": "an answer", "unreadable": "something else"}.get(frame.kind) or method_of(frame)
        number = f" {short_id(frame.id)}" if frame.id is not None else ""
        words = f"{clean_line(record.link)} {how} {clean_line(what)}{number}"
        width = self._diagram.words_width
        yield self._diagram.noted(record.link, ((cut(words, width), DIM),))


def _plain(output: TextIO) -> Callable[[Line], None]:
    write = writer(output)
    return lambda line: write("".join(text for text, _ in line).rstrip() + "\n")


def _coloured(output: TextIO) -> Callable[[Line], None]:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=output, highlight=False, markup=False, emoji=False)

    def write(line: Line) -> None:
        console.print(Text.assemble(*line), no_wrap=True, overflow="crop", crop=True)

    return write
