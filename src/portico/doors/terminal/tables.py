"""Lists of sessions: a table on a terminal, two lines each on a narrow one, plain columns anywhere else."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from portico.domain.summaries import SessionSummary
from portico.domain.turns import TurnState
from portico.doors.terminal import phrasing
from portico.doors.terminal.sanitize import clean_line

if TYPE_CHECKING:
    from rich.console import RenderableType

_STATE_STYLES = {
    TurnState.COMPLETED: "green",
    TurnState.FAILED: "red",
    TurnState.INTERRUPTED: "yellow",
    TurnState.CANCELED: "yellow",
    TurnState.IDLE: "dim",
}
_TABLE_WIDTH = 76
_UNTITLED = "untitled"


class SessionRow(msgspec.Struct, frozen=True):
    """A session in words."""

    session_id: str
    title: str
    state: TurnState
    agent: str
    age: str
    workspace: str


def session_row(summary: SessionSummary, *, now_ms: int, home: str = "") -> SessionRow:
    return SessionRow(
        clean_line(summary.session_id),
        clean_line(summary.title) or _UNTITLED,
        summary.state,
        clean_line(summary.agent),
        phrasing.age(summary.updated_at, now_ms),
        phrasing.short_path(summary.workspace, home=home),
    )


def print_sessions(
    summaries: Sequence[SessionSummary],
    *,
    now_ms: int,
    show_workspace: bool = False,
    home: str = "",
    output: TextIO | None = None,
) -> None:
    """List sessions on an output; standard output unless another is given."""
    target = output or sys.stdout
    rows = [session_row(summary, now_ms=now_ms, home=home) for summary in summaries]
    if not target.isatty():
        target.write(plain_sessions(rows, show_workspace=show_workspace))
        return
    from rich.console import Console

    console = Console(file=target, highlight=False, markup=False, emoji=False)
    wide = console.width >= _TABLE_WIDTH
    console.print((_table if wide else _stacked)(rows, show_workspace=show_workspace))


def plain_sessions(rows: Sequence[SessionRow], *, show_workspace: bool = False) -> str:
    """One session a line, columns two spaces apart, the title last but for the workspace."""
    cells = [(row.session_id, row.state.value, row.agent, row.age, row.title) for row in rows]
    widths = [max(phrasing.columns(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines: list[str] = []
    for row, words in zip(rows, cells, strict=True):
        padded = [
            word + " " * (width - phrasing.columns(word)) for word, width in zip(words, widths, strict=True)
        ]
        lines.append("  ".join((*padded, row.workspace) if show_workspace else padded).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Sequence[SessionRow], *, show_workspace: bool) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("session", "state", "agent", "age"):
        table.add_column(name, no_wrap=True, justify="right" if name == "age" else "left")
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=3)
    if show_workspace:
        table.add_column("workspace", no_wrap=True, overflow="ellipsis", ratio=2)
    for row in rows:
        cells = [
            Text(row.session_id, "cyan"),
            Text(row.state.value, _STATE_STYLES.get(row.state, "cyan")),
            Text(row.agent),
            Text(row.age, "dim"),
            Text(row.title, "dim" if row.title == _UNTITLED else ""),
        ]
        table.add_row(*cells, *([Text(row.workspace, "dim")] if show_workspace else []))
    return table


def _stacked(rows: Sequence[SessionRow], *, show_workspace: bool) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    lines: list[Text] = []
    for row in rows:
        facts = [row.state.value, row.agent, row.age, *([row.workspace] if show_workspace else [])]
        lines.append(Text(row.title, no_wrap=True, overflow="ellipsis"))
        state = _STATE_STYLES.get(row.state, "cyan")
        lines.append(Text.assemble(("  " + row.session_id, "cyan"), ("  " + facts[0], state)))
        lines.append(Text("  " + " · ".join(facts[1:]), "dim"))
    return Group(*lines)
