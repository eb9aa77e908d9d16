"""The bottom lines of a terminal that may still change, below everything that will not.

Lines are written once for good or redrawn in place. Only what differs from what already stands
there is written, in one go, so nothing flickers. The cursor rests at the end of the last line
that may change; without such a line, at the start of an empty one.
"""

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len

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
        same = _common(self._live, wanted)
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
        """What puts `lines` where the present region has its lines from `start` on.

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


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _rows(line: str, columns: int) -> int:
    """How many rows a line takes, also after the terminal became narrower than the line."""
    return max(1, -(-cell_len(_SEQUENCE.sub("", line)) // columns))
