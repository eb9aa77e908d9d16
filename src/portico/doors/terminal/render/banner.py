"""Welcome banner of a chat: version, agent, workspace and key hints."""

from typing import TYPE_CHECKING, TextIO

import msgspec

from portico.doors.terminal import labels
from portico.doors.terminal.output import is_plain_output, make_writer
from portico.doors.terminal.theme import signs_for

if TYPE_CHECKING:
    from rich.console import RenderableType

_HINTS = (("/", "commands"), ("@", "files"), ("Ctrl-D", "exit"))
_PORCH = (
    ("    ▄█▄    ", "bold cyan"),
    (" ▄███████▄ ", "bold cyan"),
    ("  █ █ █ █  ", ""),
    ("  █ █ █ █  ", ""),
    (" ▀▀▀▀▀▀▀▀▀ ", "dim"),
)
_NARROW = 52


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the banner. `session` is the title of a session that is continued."""

    version: str
    agent: str
    workspace: str
    home: str = ""
    session: str = ""

    @property
    def place(self) -> str:
        return labels.short_path(self.workspace, home=self.home)

    @property
    def going_on(self) -> str:
        return f"continuing {labels.title_text(self.session)}" if self.session else ""


def print_welcome(welcome: Welcome, output: TextIO, *, term: str) -> None:
    """Print the banner."""
    if is_plain_output(output, term):
        make_writer(output)(plain_welcome(welcome))
        return
    from rich.console import Console

    console = Console(file=output, highlight=False, markup=False, emoji=False)
    picture = console.width >= _NARROW and signs_for(console.encoding).unicode
    console.print(_greeting(welcome, picture=picture))


def plain_welcome(welcome: Welcome) -> str:
    hints = ", ".join(f"{key} {what}" for key, what in _HINTS)
    lines = (
        f"Portico {welcome.version}: {labels.title_text(welcome.agent)} in {welcome.place}",
        welcome.going_on,
    )
    return "".join(f"{line}\n" for line in (*filter(None, lines), hints))


def _greeting(welcome: Welcome, *, picture: bool) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    agent = labels.title_text(welcome.agent)
    hints = Text()
    for key, what in _HINTS:
        hints.append(f"{key} ", "cyan").append(f"{what}   ", "dim")
    words = [
        Text.assemble(("Portico", "bold"), (f" {welcome.version}", "dim")),
        Text.assemble((agent, "cyan"), (" in ", "dim"), welcome.place, overflow="fold"),
    ]
    if welcome.going_on:
        words.append(Text(welcome.going_on, "dim"))
    words.append(hints)
    if not picture:
        return Group(Text(), *words)
    grid = Table.grid(padding=(0, 2))
    porch = Text("\n").join(Text(row, style) for row, style in _PORCH)
    above = [Text()] if len(words) < 4 else []
    grid.add_row(porch, Group(*above, *words))
    return Group(Text(), grid)
