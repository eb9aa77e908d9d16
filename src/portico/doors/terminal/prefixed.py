"""A renderable with something in front of each of its lines: a bullet, a quote bar, an indent."""

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text


class Prefixed:
    """Shows `first` before the first line and `rest`, or as many spaces, before the others."""

    def __init__(self, renderable: RenderableType, first: Text, rest: Text | None = None) -> None:
        self._renderable = renderable
        self._first = first
        self._rest = rest if rest is not None else Text(" " * first.cell_len)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, options.max_width - self._first.cell_len)
        lines = console.render_lines(self._renderable, options.update(width=width, height=None), pad=False)
        prefix = self._first
        for line in lines:
            yield from prefix.render(console)
            yield from line
            yield Segment.line()
            prefix = self._rest


def barred(renderable: RenderableType, bar: str, style: str) -> Prefixed:
    """A card: no box, only a coloured bar along its left side."""
    mark = Text(f"{bar} ", style=style)
    return Prefixed(renderable, mark, mark)


def indented(renderable: RenderableType, columns: int) -> RenderableType:
    return Prefixed(renderable, Text(" " * columns)) if columns else renderable
