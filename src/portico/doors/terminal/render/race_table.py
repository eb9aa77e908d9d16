"""Results of a race: a table, and the diffs of each file beside each other."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from portico.doors.terminal import labels
from portico.doors.terminal.output import plain_columns
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.doors.terminal.theme import BAD, DIM, GOOD

if TYPE_CHECKING:
    from rich.text import Text

_TESTS = {True: "passed", False: "failed", None: "–"}
_ERROR_LENGTH = 60
_COLUMN = 50
"""Narrowest column in which a diff can be read."""


class RaceResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of one agent or model. `tests` is None if nothing was tested."""

    agent: str
    model: str | None
    session_id: str | None
    status: str
    error: str | None = None
    duration_ms: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    cost: float | None = None
    currency: str = "USD"
    tests: bool | None = None
    diffs: dict[str, str] = {}
    """The patch of each file."""

    @property
    def name(self) -> str:
        return clean_line(self.agent if self.model is None else f"{self.agent} {self.model}")


def print_race(results: Sequence[RaceResult], *, has_tests: bool, output: TextIO | None = None) -> None:
    """Print the table, by default on standard output."""
    rows = [["agent", "result", *(["tests"] if has_tests else []), "changes", "cost", "time", "session"]]
    for one in results:
        size = f"{labels.pluralize(one.files, 'file')} +{one.added} −{one.removed}"
        rows.append(
            [
                one.name,
                clean_line(one.error or one.status)[:_ERROR_LENGTH],
                *([_TESTS[one.tests]] if has_tests else []),
                size if one.files else "none",
                "–" if one.cost is None else labels.money(one.cost, one.currency),
                labels.duration(one.duration_ms) if one.duration_ms else "–",
                one.session_id or "–",
            ]
        )
    (output or sys.stdout).write(plain_columns(rows))


def print_diffs(results: Sequence[RaceResult], *, output: TextIO | None = None) -> None:
    """Print the diffs of each file: beside each other where there is room, else one below the other."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=output or sys.stdout, highlight=False, markup=False, emoji=False)
    changed = [one for one in results if one.diffs]
    for path in sorted({path for one in changed for path in one.diffs}):
        console.print(Text(f"\n{clean_line(path)}", "bold"))
        cells = [(one.name, _diff(one.diffs.get(path, ""))) for one in changed]
        if console.width < _COLUMN * len(cells):
            for name, cell in cells:
                console.print(Text(name, "cyan"), cell, sep="\n")
            continue
        table = Table(box=None, expand=True, pad_edge=False, header_style="cyan")
        for name, _ in cells:
            table.add_column(name, ratio=1, overflow="fold")
        table.add_row(*(cell for _, cell in cells))
        console.print(table)


def _diff(patch: str) -> "Text":
    from rich.text import Text

    text = Text()
    lines = clean(patch).splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith("@@")), len(lines))
    for line in lines[begin:]:
        style = {"+": GOOD, "-": BAD, "@": DIM}.get(line[:1], "")
        text.append(f"{line}\n", style)
    return text if lines else Text("not changed", DIM)
