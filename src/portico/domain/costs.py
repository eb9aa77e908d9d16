"""Costs of sessions: money and tokens by day, agent, model, folder and session, folded from usage events."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Literal

import msgspec

from portico.domain.events import ConfigUpdated, UsageUpdated
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary

SpendingGrouping = Literal["day", "agent", "model", "folder", "session"]
_DOLLARS = "USD"
_QUARTER_HOUR = 900_000
"""In milliseconds."""


def merge_usage(before: UsageUpdated | None, now: UsageUpdated) -> UsageUpdated:
    """The usage after a report: fields that it lacks are unchanged."""
    if before is None:
        return now
    priced = before if now.cost is None else now
    return UsageUpdated(
        used=before.used if now.used is None else now.used,
        size=before.size if now.size is None else now.size,
        cost=priced.cost,
        currency=priced.currency,
        input_tokens=before.input_tokens if now.input_tokens is None else now.input_tokens,
        output_tokens=before.output_tokens if now.output_tokens is None else now.output_tokens,
    )


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one session on one day with one model. `cost` is None if the agent reports none."""

    session_id: SessionId
    title: str
    agent: str
    workspace: str
    day: str
    """In local time, as 2026-11-18."""
    model: str
    cost: float | None = None
    currency: str = _DOLLARS
    input_tokens: int = 0
    output_tokens: int = 0


class SpendingTotal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Cost of a group in one currency."""

    name: str
    """The day, agent, model or folder, or the ID of the session; empty for an unknown model."""
    title: str
    cost: float | None
    currency: str
    input_tokens: int
    output_tokens: int
    sessions: int


class _Amount:
    """Sum of costs and tokens; the cost is None until one is known."""

    def __init__(self) -> None:
        self.cost: float | None = None
        self.input_tokens = 0
        self.output_tokens = 0

    def add(self, cost: float | None, input_tokens: int, output_tokens: int) -> None:
        if cost is not None:
            self.cost = cost + (self.cost or 0.0)
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens


@lru_cache(maxsize=4_096)
def _local_day(quarter_hour: int) -> str:
    """The day in local time; every time zone is a multiple of a quarter of an hour away from UTC."""
    return datetime.fromtimestamp(quarter_hour * _QUARTER_HOUR / 1000).astimezone().date().isoformat()


class SpendingFold:
    """Folds the usage events of one session, oldest first.

    Agents report the cost of their session so far: what was spent is the difference to the report before. A lower
    report means that the agent began to count anew. Tokens are those of a turn.
    """

    def __init__(self, session: SessionSummary) -> None:
        self._session = session
        self._model = ""
        self._reported: dict[str, float] = {}
        self._amounts: defaultdict[tuple[str, str, str], _Amount] = defaultdict(_Amount)

    def choose_model(self, config: ConfigUpdated) -> None:
        chosen = (option.value for option in config.options if option.category == "model")
        self._model = next((value for value in chosen if isinstance(value, str)), self._model)

    def add(self, usage: UsageUpdated, at: int, *, counts: bool = True) -> None:
        """Add a report. One that does not count is only what later ones are compared with."""
        currency = usage.currency or _DOLLARS
        cost = usage.cost
        if cost is not None:
            before = self._reported.get(currency, 0.0)
            self._reported[currency] = cost
            cost = cost - before if cost >= before else cost
        tokens = (usage.input_tokens or 0, usage.output_tokens or 0)
        if counts and (cost is not None or any(tokens)):
            day = _local_day(at // _QUARTER_HOUR)
            self._amounts[day, self._model, currency].add(cost, *tokens)

    def spending(self) -> list[Spending]:
        return [
            Spending(
                session_id=self._session.session_id,
                title=self._session.title,
                agent=self._session.agent,
                workspace=self._session.workspace,
                day=day,
                model=model,
                cost=amount.cost,
                currency=currency,
                input_tokens=amount.input_tokens,
                output_tokens=amount.output_tokens,
            )
            for (day, model, currency), amount in self._amounts.items()
        ]


_KEYS: dict[SpendingGrouping | Literal["all"], Callable[[Spending], tuple[str, str]]] = {
    "day": lambda one: (one.day, one.day),
    "agent": lambda one: (one.agent, one.agent),
    "model": lambda one: (one.model, one.model),
    "folder": lambda one: (one.workspace, one.workspace),
    "session": lambda one: (one.session_id, one.title),
    "all": lambda _: ("", ""),
}


def total_spending(found: Iterable[Spending], by: SpendingGrouping | Literal["all"]) -> list[SpendingTotal]:
    """Totals by group, each currency apart: days in their order, others by cost, the highest first."""
    amounts: defaultdict[tuple[str, str, str], _Amount] = defaultdict(_Amount)
    sessions: defaultdict[tuple[str, str, str], set[SessionId]] = defaultdict(set)
    for one in found:
        key = (*_KEYS[by](one), one.currency)
        amounts[key].add(one.cost, one.input_tokens, one.output_tokens)
        sessions[key].add(one.session_id)
    totals = [
        SpendingTotal(
            name=name,
            title=title,
            cost=amount.cost,
            currency=currency,
            input_tokens=amount.input_tokens,
            output_tokens=amount.output_tokens,
            sessions=len(sessions[name, title, currency]),
        )
        for (name, title, currency), amount in amounts.items()
    ]
    if by == "day":
        return sorted(totals, key=lambda one: (one.name, one.currency))
    return sorted(
        totals, key=lambda one: (-(one.cost or 0.0), -one.input_tokens - one.output_tokens, one.title)
    )
