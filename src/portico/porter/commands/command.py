"""A slash command: its name, its help and the function that runs it."""

from collections.abc import Awaitable, Callable, Iterable
from difflib import get_close_matches

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.turn import PorterTurn


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command. `hint` shows its arguments; `more` is added by `/help NAME`."""

    name: str
    purpose: str
    run: Callable[[PorterTurn, str], Awaitable[None]]
    hint: str | None = None
    more: str = ""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.hint}" if self.hint else f"/{self.name}"


def usage_error(usage: str, why: str) -> InvalidInput:
    """Return the error for arguments that a command does not understand."""
    return InvalidInput(why, suggestion=f"Usage: `{usage}`")


def unknown_command(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=2, cutoff=0.5)
    hint = (
        f"Did you mean {' or '.join(f'`/{one}`' for one in near)}?" if near else "`/help` lists all commands."
    )
    return f"Unknown command `/{name}`. {hint}"
