"""Session lists: a table on a wide terminal, stacked lines on a narrow one, plain columns elsewhere."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.doors.terminal import labels
from portico.doors.terminal.output import plain_columns
from portico.doors.terminal.sanitizer import clean_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

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
    """A session as text."""

    session_id: str
    title: str
    state: TurnState
    agent: str
    age: str
    workspace: str
    to_review: str = ""
    number: int = 0
    """Position in a numbered list, from 1; 0 in any other."""

    @property
    def state_text(self) -> str:
        return f"{self.state.label}, {self.to_review}" if self.to_review else self.state.label


def session_row(summary: SessionSummary, *, now_ms: int, home: str = "", number: int = 0) -> SessionRow:
    return SessionRow(
        clean_line(summary.session_id),
        clean_line(summary.title) or _UNTITLED,
        summary.state,
        clean_line(summary.agent),
        labels.age(summary.updated_at, now_ms),
        labels.short_path(summary.workspace, home=home),
        f"{summary.to_review} to review" if summary.to_review else "",
        number,
    )


def print_sessions(
    summaries: Sequence[SessionSummary],
    *,
    now_ms: int,
    show_workspace: bool = False,
    home: str = "",
    numbered: bool = False,
    output: TextIO | None = None,
) -> None:
    """Print sessions, by default on standard output."""
    target = output or sys.stdout
    rows = [
        session_row(summary, now_ms=now_ms, home=home, number=number if numbered else 0)
        for number, summary in enumerate(summaries, 1)
    ]
    if not target.isatty():
        target.write(plain_sessions(rows, show_workspace=show_workspace))
        return
    from rich.console import Console

    console = Console(file=target, highlight=False, markup=False, emoji=False)
    if console.width >= _TABLE_WIDTH:
        console.print(_table(rows, console.width, show_workspace=show_workspace))
    else:
        console.print(_stacked(rows, show_workspace=show_workspace))


def plain_sessions(rows: Sequence[SessionRow], *, show_workspace: bool = False) -> str:
    """One session per line; the title is the last column, except for the workspace."""
    cells = [(*_numbers(row), row.session_id, row.state_text, row.agent, row.age, row.title) for row in rows]
    return plain_columns(
        [(*words, row.workspace) for row, words in zip(rows, cells, strict=True)] if show_workspace else cells
    )


def _numbers(row: SessionRow) -> list[str]:
    return [str(row.number)] if row.number else []


def _table(rows: Sequence[SessionRow], width: int, *, show_workspace: bool) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    widths = [
        max(len(row.session_id) for row in rows),
        max(len(row.state_text) for row in rows),
        max(len("agent"), *(min(16, labels.display_width(row.agent)) for row in rows)),
        max(len("age"), *(len(row.age) for row in rows)),
    ]
    if rows[0].number:
        table.add_column("", no_wrap=True, width=(digits := len(str(rows[-1].number))), justify="right")
        width -= digits + 2
    for name, column in zip(("session", "state", "agent", "age"), widths, strict=True):
        justify: Literal["left", "right"] = "right" if name == "age" else "left"
        table.add_column(name, no_wrap=True, width=column, justify=justify, overflow="ellipsis")
    room = width - sum(widths) - 2 * len(widths)
    place = min(room // 3, max(labels.display_width(row.workspace) for row in rows)) if show_workspace else 0
    table.add_column("title", no_wrap=True, overflow="ellipsis", max_width=room - place - 2)
    if show_workspace:
        table.add_column("workspace", no_wrap=True, overflow="ellipsis", width=place)
    for row in rows:
        cells = [
            *(Text(number, "bold") for number in _numbers(row)),
            Text(row.session_id, "cyan"),
            _state(row),
            Text(row.agent),
            Text(row.age, "dim"),
            Text(row.title, "dim" if row.title == _UNTITLED else ""),
        ]
        table.add_row(*cells, *([Text(row.workspace, "dim")] if show_workspace else []))
    return table


def _state(row: SessionRow) -> "Text":
    from rich.text import Text

    state = Text(row.state.label, _STATE_STYLES.get(row.state, "cyan"))
    return state.append(f", {row.to_review}", "bold yellow") if row.to_review else state


def _stacked(rows: Sequence[SessionRow], *, show_workspace: bool) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    lines: list[Text] = []
    for row in rows:
        facts = (row.agent, row.age, row.workspace) if show_workspace else (row.agent, row.age)
        title = "  ".join((*_numbers(row), row.title))
        lines.append(Text(title, no_wrap=True, overflow="ellipsis"))
        lines.append(Text.assemble((f"  {row.session_id}  ", "cyan"), _state(row)))
        lines.append(Text(f"  {'  '.join(facts)}", "dim", no_wrap=True, overflow="ellipsis"))
    return Group(*lines)
