"""Layout helpers for rich: lines with a prefix or bar, and lines that keep their end in sight."""

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text


class PrefixedLines:
    """Lines with `mark` before the first, and before the others the mark again or spaces."""

    def __init__(
        self, renderable: RenderableType, mark: str, style: str = "", *, repeat: bool = False
    ) -> None:
        self._renderable = renderable
        self._mark = mark
        self._style = style
        self._repeat = repeat

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = cell_len(self._mark)
        width = max(1, options.max_width - columns)
        lines = console.render_lines(self._renderable, options.update(width=width, height=None), pad=False)
        prefix = Segment(self._mark, console.get_style(self._style))
        for line in lines:
            yield prefix
            yield from line
            yield Segment.line()
            prefix = prefix if self._repeat else Segment(" " * columns)


class FittedLine:
    """One line whose text is cut so that its end stays visible."""

    def __init__(self, words: Text, behind: Text) -> None:
        self._words = words
        self._behind = behind

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        words = self._words.copy()
        words.truncate(max(8, options.max_width - self._behind.cell_len), overflow="ellipsis")
        line = words + self._behind
        line.no_wrap, line.overflow = True, "crop"
        yield line


def barred(renderable: RenderableType, bar: str, style: str) -> PrefixedLines:
    """A card: a coloured bar along its left side."""
    return PrefixedLines(renderable, f"{bar} ", style, repeat=True)


def indented(renderable: RenderableType, columns: int) -> RenderableType:
    return PrefixedLines(renderable, " " * columns) if columns else renderable
