"""The limit that a session's spending is checked against."""

from typing import Protocol

from portico.porter.models.model import ModelUsage


class SpendingLimit(Protocol):
    """Counts model requests and refuses more once a budget is used up. Its methods block briefly."""

    def begin_turn(self) -> None: ...

    def check(self) -> None:
        """Raise BudgetExceeded if nothing more may be spent."""
        ...

    def add(self, usage: ModelUsage) -> tuple[str, ...]:
        """Count a request and return warnings for the user."""
        ...


class NoSpendingLimit:
    """A limit that allows everything."""

    def begin_turn(self) -> None:
        return

    def check(self) -> None:
        return

    def add(self, usage: ModelUsage) -> tuple[str, ...]:
        return ()
