"""Labels of a sequence diagram's arrows: method, id, duration and summary."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from portico.conductor.tracing.steps import FrameMeaning, TraceStep
from portico.doors.terminal.labels import display_width, duration
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.doors.terminal.theme import BAD, CAUTION, DIM, GOOD, STRONG
from portico.doors.terminal.trace.diagram_rows import DiagramRow
from portico.doors.terminal.trace.frame_summary import decode_body, truncate
from portico.rpc.messages import RequestId

Piece = tuple[str, str]
"""Text with a style."""
Line = tuple[Piece, ...]

_MADE_HERE = "portico-"
_LONGEST_ID = 8
_ENOUGH = 30
_MINUTE, _HOUR = 60_000, 3_600_000


class Strokes(msgspec.Struct, frozen=True, kw_only=True):
    """Drawing characters. Of a pair, the first is for arrows to the right."""

    life: str = "│"
    pause: str = "┊"
    solid: str = "─"
    dashed: str = "╌"
    crossing: str = "┼"
    leaving: tuple[str, str] = ("├", "┤")
    call: tuple[str, str] = ("►", "◄")
    news: tuple[str, str] = ("▻", "◅")
    seen: str = "●"
    changed: str = "◆"
    lost: str = "×"
    top: str = "┌"
    bottom: str = "└"
    done: str = "✓"
    failed: str = "✗"
    times: str = "×"


UNICODE_STROKES = Strokes()
ASCII_STROKES = Strokes(
    life="|",
    pause=":",
    solid="-",
    dashed=".",
    crossing="+",
    leaving=("|", "|"),
    call=(">", "<"),
    news=(">", "<"),
    seen="o",
    changed="*",
    lost="x",
    top=".",
    bottom="'",
    done="ok",
    failed="failed",
    times="x",
)


def row_words(row: DiagramRow, width: int, strokes: Strokes) -> Iterator[Line]:
    """The label on one line if it fits; else the summary, and each change, on its own line."""
    head = tuple(_head(row, strokes))
    style = BAD if row.step.error is not None else ""
    room = width - width_of(head) - 1
    if display_width(row.gist) <= room or room >= _ENOUGH:
        yield (*head, (" ", ""), (truncate(row.gist, room), style)) if row.gist else head
    else:
        yield shortened(head, width)
        yield (("  ", ""), (truncate(row.gist, width - 2), style))
    for link, found in row.changes.items():
        words = f"{strokes.changed} {clean_line(link)}: {' '.join(map(clean_line, found))}"
        yield ((truncate(words, width), CAUTION),)


def whole_body(body: Raw, width: int) -> Iterator[Line]:
    """Parameters or a result in full, on several lines."""
    try:
        text = msgspec.json.format(bytes(body), indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = str(decode_body(body))
    for line in clean(text).splitlines():
        indent = len(line) - len(line.lstrip())
        rest = line
        while rest:
            piece = _fitting(rest, width)
            yield ((piece, DIM),)
            rest = rest[len(piece) :]
            rest = " " * min(indent + 2, width // 2) + rest if rest else ""


def method_of(frame: TraceStep | FrameMeaning) -> str:
    return (
        f"proxy/successor {frame.method}" if frame.wrapped else frame.method or "a response without a request"
    )


def short_id(number: RequestId) -> str:
    """A request id, shortened if the conductor made it."""
    text = str(number)
    if text.startswith(_MADE_HERE):
        return f"#p{text.rpartition('-')[2]}"
    return f"#{truncate(clean_line(text), _LONGEST_ID)}"


def offset(milliseconds: int) -> str:
    """Time since the start, in milliseconds."""
    milliseconds = max(0, milliseconds)
    seconds = f"{milliseconds % _MINUTE / 1000:.3f}"
    if milliseconds < _MINUTE:
        return seconds
    minutes = milliseconds // _MINUTE
    if milliseconds < _HOUR:
        return f"{minutes}:{seconds:0>6}"
    return f"{minutes // 60}:{minutes % 60:02}:{milliseconds % _MINUTE // 1000:02}"


def later(milliseconds: int) -> str:
    return f"{duration(milliseconds)} later"


def format_milliseconds(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds else "<1ms"
    return duration(milliseconds)


def width_of(line: Line) -> int:
    return sum(display_width(text) for text, _ in line)


def shortened(line: Line, width: int) -> Line:
    """The line, cut to a width."""
    kept: list[Piece] = []
    for text, style in line:
        room = width - width_of(tuple(kept))
        if room <= 0:
            break
        kept.append((truncate(text, room), style))
    return tuple(kept)


def _head(row: DiagramRow, strokes: Strokes) -> Iterator[Piece]:
    step = row.step
    failed = step.error is not None
    style = {"request": STRONG, "response": DIM, "notification": DIM, "unreadable": BAD}[step.kind]
    yield (
        clean_line(method_of(step) if step.kind != "unreadable" else "unreadable"),
        BAD if failed else style,
    )
    if step.id is not None:
        yield (f" {short_id(step.id)}", DIM)
    if step.kind == "response":
        yield (f" {strokes.failed if failed else strokes.done}", BAD if failed else GOOD)
        if step.duration is not None:
            yield (f" {format_milliseconds(step.duration)}", DIM)
    if row.count > 1:
        yield (f" {strokes.times}{row.count:,}", STRONG)
        if row.until > row.at:
            yield (f" in {format_milliseconds(row.until - row.at)}", DIM)


def _fitting(text: str, width: int) -> str:
    """The part of a text that fits a width; at least one character."""
    room, kept = width, 0
    for character in text:
        room -= display_width(character)
        if room < 0:
            break
        kept += 1
    return text[: max(1, kept)]
