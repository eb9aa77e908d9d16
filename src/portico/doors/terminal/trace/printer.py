"""Printer of traces: a sequence diagram per chain, with heading and totals."""

from collections.abc import Callable, Iterator
from typing import TextIO

import msgspec

from portico.conductor.tracing.reader import TracedChain, TraceFile
from portico.conductor.tracing.records import (
    AGENT,
    EDITOR,
    ChainClosed,
    ChainOpened,
    ProgramFrame,
    TraceFault,
    TraceFrame,
)
from portico.conductor.tracing.steps import (
    TraceFollower,
    TraceStep,
    frame_meaning,
    milliseconds,
    step_content,
)
from portico.doors.terminal.labels import pluralize
from portico.doors.terminal.output import is_plain_output, make_writer
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import BAD, DIM, STRONG, signs_for
from portico.doors.terminal.trace.diagram_labels import (
    ASCII_STROKES,
    UNICODE_STROKES,
    Line,
    Strokes,
    format_milliseconds,
    method_of,
    short_id,
    whole_body,
)
from portico.doors.terminal.trace.diagram_rows import DiagramRow, DiagramRowBuilder
from portico.doors.terminal.trace.frame_summary import truncate
from portico.doors.terminal.trace.sequence_diagram import SequenceDiagram

_DEFAULT_WIDTH = 80
_WIDEST = 160
_LEGEND = {
    "seen": ("seen", "inspected and forwarded"),
    "changed": ("changed", "changed"),
    "passed": ("crossing", "not involved"),
}
_ENDINGS = {"client": "the editor disconnected", "agent": "the agent exited", "conductor": "stopped"}


class TraceLayout(msgspec.Struct, frozen=True, kw_only=True):
    """Display options of a trace. `lines` selects lines of the file; `full` shows every frame in full."""

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
    """Draw the chains of a trace. `columns` is the width of the output, if it has one."""
    width = min(columns or _DEFAULT_WIDTH, _WIDEST)
    strokes = UNICODE_STROKES if signs_for(output.encoding).unicode else ASCII_STROKES
    look = TraceLayout(width=width, strokes=strokes, full=full, lines=lines)
    write = _plain(output) if is_plain_output(output, term) else _coloured(output)
    for place, chain in enumerate(chains):
        if place:
            write(())
        for line in draw_chain(file, chain, look):
            write(line)


def draw_chain(file: TraceFile, chain: TracedChain, look: TraceLayout) -> Iterator[Line]:
    """Draw one chain, with heading and summary."""
    drawing = _ChainDrawing(file, chain, look)
    yield drawing.heading()
    yield ()
    yield from drawing.body()
    yield from drawing.ending()


class _ChainDrawing:
    def __init__(self, file: TraceFile, chain: TracedChain, look: TraceLayout) -> None:
        self._file = file
        self._chain = chain
        self._look = look
        self._start = milliseconds(chain.at)
        self._last = self._start
        self._diagram = SequenceDiagram(
            chain.links, start=self._start, width=look.width, strokes=look.strokes
        )
        self._rows = DiagramRowBuilder(folding=not look.full)
        self._follower = TraceFollower()
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
                case TraceFrame():
                    step = self._follower.take(number, record)
                    if wanted:
                        yield from self._take(step)
                case TraceFault() if wanted:
                    yield from self._flush()
                    self._errors += 1
                    yield from self._diagram.fault(milliseconds(record.at), record)
                case ProgramFrame() if wanted and self._look.full:
                    yield from self._flush()
                    yield from self._wire(record)
                case ChainClosed(at=at, gone=gone) if self._look.lines is None:
                    yield from self._flush()
                    link = {"client": EDITOR, "agent": AGENT}.get(gone, "")
                    yield from self._diagram.gone(milliseconds(at), link, _ENDINGS[gone])
                case ChainOpened() | TraceFault() | ProgramFrame() | ChainClosed():
                    pass
            self._last = max(self._last, milliseconds(record.at)) if wanted else self._last
        yield from self._flush()
        yield from self._diagram.bottom()

    def ending(self) -> Iterator[Line]:
        lasted = format_milliseconds(max(0, self._last - self._start))
        facts = [f"{pluralize(self._frames, 'frame')} in {lasted}"]
        facts += [pluralize(self._drawn, "arrow")] if self._drawn < self._frames else []
        yield ()
        yield (
            (", ".join(facts), DIM),
            *(((", " + pluralize(self._errors, "error"), BAD),) if self._errors else ()),
        )
        signs = [
            f"{getattr(self._look.strokes, sign)} {frame_meaning}"
            for mark, (sign, frame_meaning) in _LEGEND.items()
            if mark in self._diagram.marks
        ]
        if signs:
            yield ((truncate("   ".join(signs), self._look.width), DIM),)
        if self._look.lines is None:
            for one in self._follower.waiting:
                waited = format_milliseconds(max(0, self._last - one.at))
                words = (
                    f"{one.link} still waits for {clean_line(one.method)} {short_id(one.id)} after {waited}"
                )
                yield ((truncate(words, self._look.width), BAD),)

    def _take(self, step: TraceStep) -> Iterator[Line]:
        self._frames += 1
        for row in self._rows.take(step):
            yield from self._draw(row)

    def _flush(self) -> Iterator[Line]:
        for row in self._rows.end():
            yield from self._draw(row)

    def _draw(self, row: DiagramRow) -> Iterator[Line]:
        self._drawn += 1
        self._errors += row.step.error is not None
        yield from self._diagram.row(row)
        width = self._diagram.words_width
        for step in row.steps:
            if step.changed:
                yield self._diagram.aside(((truncate(f"from {clean_line(step.sender)} on:", width), DIM),))
            if step.changed != ():
                for words in whole_body(step_content(step), width):
                    yield self._diagram.aside(words)

    def _wire(self, record: ProgramFrame) -> Iterator[Line]:
        """The frame that a program received or sent, beside its lifeline."""
        frame = frame_meaning(record.frame)
        how = "gets" if record.direction == "sent" else "sends"
        what = {"response": "an answer", "unreadable": "something else"}.get(frame.kind) or method_of(frame)
        number = f" {short_id(frame.id)}" if frame.id is not None else ""
        words = f"{clean_line(record.link)} {how} {clean_line(what)}{number}"
        width = self._diagram.words_width
        yield self._diagram.noted(record.link, ((truncate(words, width), DIM),))


def _plain(output: TextIO) -> Callable[[Line], None]:
    write = make_writer(output)
    return lambda line: write("".join(text for text, _ in line).rstrip() + "\n")


def _coloured(output: TextIO) -> Callable[[Line], None]:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=output, highlight=False, markup=False, emoji=False)

    def write(line: Line) -> None:
        console.print(Text.assemble(*line), no_wrap=True, overflow="crop", crop=True)

    return write
