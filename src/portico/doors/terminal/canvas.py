"""Turns what rich can show into the lines a terminal is sent, and knows how large the terminal is."""

import re
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType

from portico.doors.terminal.look import Signs, signs_for
from portico.doors.terminal.region import LiveRegion
from portico.doors.terminal.renderers import writer

_WIDEST = 120
_LINK_NUMBER = re.compile(r"\x1b\]8;id=[^;]*;")


class Canvas:
    """A console seen as lines. They stay one column short of the edge, so that none wraps by itself,
    and are never wider than reads well."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.signs: Signs = signs_for(console.encoding)
        self.links = console.color_system is not None and not console.legacy_windows
        self.region = LiveRegion(writer(console.file), lambda: console.width)

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
