"""A slash command: its name, its help and the function that runs it."""

from collections.abc import Awaitable, Callable

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.turn import PorterTurn


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """`hint` shows what may follow the name; `more` is what /help NAME adds."""

    name: str
    purpose: str
    run: Callable[[PorterTurn, str], Awaitable[None]]
    hint: str | None = None
    more: str = ""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.hint}" if self.hint else f"/{self.name}"


def usage_error(usage: str, why: str) -> InvalidInput:
    """The answer to a command that was called in a way it does not understand."""
    return InvalidInput(why, suggestion=f"Usage: `{usage}`")
