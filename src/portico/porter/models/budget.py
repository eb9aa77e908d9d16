"""Budgets in tokens and dollars for a turn, a session and a day: a warning at 80 %, an error at the limit.

budget = Budget(allowances(settings.budgets, environ), day_ledger(environ), session=spent_so_far)
budget.begin_turn()
budget.check()                        # before each request: BudgetExceeded at the limit
for notice in budget.add(usage): …    # for each ModelUsage; warnings for the user
budget.session                        # total to store with the session
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from portico.config.model_settings import Allowance, BudgetSetting, parse_allowance
from portico.domain.errors import BudgetExceeded, InvalidInput
from portico.porter.models.ledger import DayLedger, SpentTotal
from portico.porter.models.model import ModelUsage

Scope = Literal["turn", "session", "day"]

_SCOPES: tuple[Scope, ...] = ("turn", "session", "day")
_NOTHING = SpentTotal()
_WARN_AT = 0.8
_WORDS: dict[Scope, str] = {"turn": "this turn", "session": "this session", "day": "today"}


def variable(scope: Scope) -> str:
    """Return the environment variable that sets a budget for one run."""
    return f"PORTICO_BUDGET_{scope.upper()}"


def allowances(setting: BudgetSetting, environ: Mapping[str, str]) -> BudgetSetting:
    """Return the budgets of the settings, overridden by the environment. Raises InvalidInput for a bad variable."""
    for scope in _SCOPES:
        if text := environ.get(variable(scope), "").strip():
            try:
                own = parse_allowance(text)
            except InvalidInput as error:
                raise InvalidInput(
                    f"{variable(scope)}: {error.message}", suggestion=error.suggestion
                ) from error
            set_before: Allowance = getattr(setting, scope)
            setting = msgspec.structs.replace(setting, **{scope: own.over(set_before)})
    return setting


class _Mark(NamedTuple):
    """The spending against one limit."""

    scope: Scope
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
    flag = "--budget-usd" if mark.unit == "dollars" else "--budget-tokens"
    return f"{flag} or {variable(mark.scope)}" if mark.scope == "turn" else variable(mark.scope)


class Budget:
    def __init__(self, limits: BudgetSetting, ledger: DayLedger, *, session: SpentTotal = _NOTHING) -> None:
        self._limits = limits
        self._ledger = ledger
        self._turn = SpentTotal()
        self._session = session
        self._warned: set[tuple[Scope | None, str]] = set()

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
                    f"or permanently in the settings: budgets.{mark.scope}.{mark.unit}",
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
        counts = usage.cost_usd is not None or all(limit.dollars is None for limit in limits)
        if not counts and self._first_time(None, "price"):
            yield "The price of this model is unknown, so its cost does not count towards the budget in dollars."

    def _first_time(self, scope: Scope | None, what: str) -> bool:
        known = (scope, what) in self._warned
        self._warned.add((scope, what))
        return not known

    def _marks(self) -> Iterator[_Mark]:
        today = self._ledger.spent() if self._limits.day != Allowance() else SpentTotal()
        sums: tuple[tuple[Scope, Allowance, SpentTotal], ...] = (
            ("turn", self._limits.turn, self._turn),
            ("session", self._limits.session, self._session),
            ("day", self._limits.day, today),
        )
        for scope, limit, spent in sums:
            if limit.tokens is not None:
                yield _Mark(scope, "tokens", spent.tokens, limit.tokens)
            if limit.dollars is not None:
                yield _Mark(scope, "dollars", spent.dollars, limit.dollars)
