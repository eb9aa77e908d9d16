"""Budgets in tokens and dollars for a turn, a session and a day: a warning at 80 %, an error at the limit.

budget = Budget(effective_limits(settings, environ), day_ledger(environ), session=spent_so_far)
budget.begin_turn()
budget.check()                        # before each request: BudgetExceeded at the limit
for notice in budget.add(usage): …    # for each ModelUsage; warnings for the user
budget.session                        # total to store with the session
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from portico.config.model_settings import (
    Allowance,
    BudgetScope,
    BudgetSetting,
    budget_variable,
    budgets_of_environment,
)
from portico.config.settings import DEFAULT_MAX_COST_USD, Settings
from portico.domain.errors import BudgetExceeded
from portico.porter.models.ledger import DayLedger, SpentTotal
from portico.porter.models.model import ModelUsage

_NOTHING = SpentTotal()
_WARN_AT = 0.8
_WORDS: dict[BudgetScope, str] = {"turn": "this turn", "session": "this session", "day": "today"}


def effective_limits(settings: Settings, environ: Mapping[str, str]) -> BudgetSetting:
    """Return the limits of the settings, overridden by the environment. Raises InvalidInput for a bad variable."""
    capped = Allowance(tokens=settings.budgets.turn.tokens, dollars=settings.max_cost_usd)
    return budgets_of_environment(environ).over(msgspec.structs.replace(settings.budgets, turn=capped))


class _Mark(NamedTuple):
    """The spending against one limit."""

    scope: BudgetScope
    unit: Literal["tokens", "dollars"]
    spent: float
    limit: float

    @property
    def share(self) -> float:
        return self.spent / self.limit if self.limit else 1.0

    def __str__(self) -> str:
        if self.unit == "dollars":
            return f"${self.spent:.4g} of ${self.limit:.4g}"
        return f"{self.spent:,.0f} of {self.limit:,.0f} tokens"


def _for_one_run(mark: _Mark) -> str:
    flag = "--max-cost" if mark.unit == "dollars" else "--budget-tokens"
    variable = budget_variable(mark.scope)
    return f"{flag} or {variable}" if mark.scope == "turn" else variable


def _for_good(mark: _Mark) -> str:
    if mark.scope == "turn" and mark.unit == "dollars":
        return f"portico config set maxCostUsd {max(2 * mark.limit, DEFAULT_MAX_COST_USD):.2f}"
    return f"portico config set budgets.{mark.scope}.{mark.unit} …"


def is_chosen(limits: BudgetSetting) -> bool:
    """Return whether a limit in dollars is another one than the built-in one."""
    dollars = {limits.turn.dollars, limits.session.dollars, limits.day.dollars}
    return not dollars <= {None, DEFAULT_MAX_COST_USD}


class Budget:
    """The limits of a session and what it has spent. Unless `chosen`, unknown prices cause no warning."""

    def __init__(
        self,
        limits: BudgetSetting,
        ledger: DayLedger,
        *,
        session: SpentTotal = _NOTHING,
        chosen: bool = True,
    ) -> None:
        self._limits = limits
        self._chosen = chosen
        self._ledger = ledger
        self._turn = SpentTotal()
        self._session = session
        self._warned: set[tuple[BudgetScope | None, str]] = set()

    @property
    def session(self) -> SpentTotal:
        return self._session

    @property
    def turn(self) -> SpentTotal:
        return self._turn

    def begin_turn(self) -> None:
        self._turn = SpentTotal()
        self._warned = {mark for mark in self._warned if mark[0] != "turn"}

    def check(self) -> None:
        """Raise BudgetExceeded if a limit is used up; the limit of a day counts all sessions."""
        for mark in self._marks():
            if mark.share >= 1.0:
                raise BudgetExceeded(
                    f"The budget for {_WORDS[mark.scope]} is used up: {mark}.",
                    suggestion=f"Raise it for one run with {_for_one_run(mark)}, "
                    f"or permanently: {_for_good(mark)}",
                )

    def add(self, usage: ModelUsage) -> tuple[str, ...]:
        """Count a request and return warnings for the user, each once."""
        self._turn = self._turn.plus(usage)
        self._session = self._session.plus(usage)
        self._ledger.add(usage)
        return tuple(self._warnings(usage))

    def _warnings(self, usage: ModelUsage) -> Iterator[str]:
        for mark in self._marks():
            if mark.share >= _WARN_AT and self._first_time(mark.scope, mark.unit):
                yield f"{mark.share:.0%} of the budget for {_WORDS[mark.scope]} is used: {mark}."
        limits = (self._limits.turn, self._limits.session, self._limits.day)
        chosen = self._chosen and any(limit.dollars is not None for limit in limits)
        counts = usage.cost_usd is not None or not chosen
        if not counts and self._first_time(None, "price"):
            yield "The price of this model is unknown, so its cost does not count towards the budget in dollars."

    def _first_time(self, scope: BudgetScope | None, what: str) -> bool:
        known = (scope, what) in self._warned
        self._warned.add((scope, what))
        return not known

    def _marks(self) -> Iterator[_Mark]:
        today = self._ledger.spent() if self._limits.day != Allowance() else SpentTotal()
        sums: tuple[tuple[BudgetScope, Allowance, SpentTotal], ...] = (
            ("turn", self._limits.turn, self._turn),
            ("session", self._limits.session, self._session),
            ("day", self._limits.day, today),
        )
        for scope, limit, spent in sums:
            if limit.tokens is not None:
                yield _Mark(scope, "tokens", spent.tokens, limit.tokens)
            if limit.dollars is not None:
                yield _Mark(scope, "dollars", spent.dollars, limit.dollars)
