"""Conversion of rich renderables to terminal lines, and the redrawn region at the bottom."""

import re
from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType

from portico.doors.terminal.output import make_writer
from portico.doors.terminal.render.diff_view import common_length
from portico.doors.terminal.theme import Signs, signs_for

_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
_UP = "\x1b[A"
_ERASE_LINE = "\x1b[2K"
_ERASE_BELOW = "\x1b[J"
_BEGIN_FRAME = "\x1b[?2026h"
_END_FRAME = "\x1b[?2026l"


class LiveRegion:
    """Draws on a terminal that is `columns()` wide now; it may have been resized since the last time."""

    def __init__(self, write: Callable[[str], None], columns: Callable[[], int]) -> None:
        self._write = write
        self._columns = columns
        self._live: list[str] = []

    def draw(self, permanent: Sequence[str], live: Sequence[str]) -> None:
        """Put `permanent` above and show `live` in place of what could change until now."""
        wanted = [*permanent, *live]
        same = common_length(self._live, wanted)
        if same == len(self._live) == len(wanted) and bool(live) == bool(wanted):
            return
        if live:
            same = min(same, len(wanted) - 1)
        frame = self._replacing(same, wanted[same:])
        if not live and len(wanted) > same:
            frame += "\n"
        self._live = list(live)
        self._write(f"{_BEGIN_FRAME}{frame}{_END_FRAME}")

    def _replacing(self, start: int, lines: Sequence[str]) -> str:
        """The output that replaces the region's lines from `start` on by `lines`.

        Each line is erased by itself: some terminals keep a screen that is erased at once.
        """
        if start >= len(self._live):
            return ("\n" if self._live else "") + "\n".join(lines)
        columns = max(1, self._columns())
        rows = sum(_rows(text, columns) for text in self._live[start:])
        back = "\r" + _UP * (rows - 1)
        if not lines:
            return back + "\n".join([_ERASE_LINE] * rows) + _UP * (rows - 1)
        rest = _ERASE_BELOW if rows > len(lines) else ""
        return back + "\n".join(_ERASE_LINE + line for line in lines) + rest


def _rows(line: str, columns: int) -> int:
    """The rows that a line takes, also after the terminal became narrower than the line."""
    return max(1, -(-cell_len(_SEQUENCE.sub("", line)) // columns))


_WIDEST = 120
_LINK_NUMBER = re.compile(r"\x1b\]8;id=[^;]*;")


class Canvas:
    """A console seen as lines. They stay one column short of the edge, so that none wraps by itself,
    and are never wider than reads well."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.signs: Signs = signs_for(console.encoding)
        self.links = console.color_system is not None and not console.legacy_windows
        self.region = LiveRegion(make_writer(console.file), lambda: console.width)

    @property
    def width(self) -> int:
        return max(20, min(self._console.width - 1, _WIDEST))

    @property
    def height(self) -> int:
        return self._console.height

    def lines(self, renderables: Iterable[RenderableType]) -> list[str]:
        with self._console.capture() as capture:
            self._console.print(Group(*renderables), width=self.width)
        # rich numbers links at random, and a line that has not changed must look unchanged.
        text = _LINK_NUMBER.sub("\x1b]8;;", capture.get())
        return [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []
