"""Plain output: which streams take text only, how text is written to them, and columns of text."""

from collections.abc import Callable, Sequence
from typing import IO, TextIO

from portico.doors.terminal.labels import display_width

CLEAR_SCREEN = "\x1b[H\x1b[2J\x1b[3J"


def is_plain_output(output: TextIO, term: str) -> bool:
    """Whether an output takes text only: a file, a pipe, or a terminal that cannot move its cursor."""
    return not output.isatty() or term.lower() in ("", "dumb", "unknown")


def make_writer(stream: IO[str]) -> Callable[[str], None]:
    """A function that writes to a stream and flushes; characters its encoding lacks become question marks."""

    def write(text: str) -> None:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()

    return write


def plain_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines of text, their columns two spaces apart."""
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(word + " " * (width - display_width(word)) for word, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)
