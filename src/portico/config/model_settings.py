"""Settings of model providers, prices and budgets."""

from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

import msgspec

from portico.domain.errors import InvalidInput

_Number = TypeVar("_Number", int, float)

BudgetScope = Literal["turn", "session", "day"]
MODEL_VARIABLE = "PORTICO_MODEL"
"""Sets Porter's model for one run, overriding the settings."""


class _Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of settings that Portico writes; defaults are left out."""


class PriceSetting(_Written, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Prices in dollars per million tokens. Cached input costs as much as other input by default."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class ModelSetting(_Written, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Facts about a model that override the published lists. A `small` model gets few tools and few words."""

    price: PriceSetting | None = None
    window: int | None = None
    tools: bool | None = None
    images: bool | None = None
    small: bool | None = None


class ProviderSetting(_Written, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A custom provider, or changes of a built-in one.

    `kind` is the built-in provider with the same API; the default for a custom address is `openai-chat`.
    """

    kind: str | None = None
    address: str | None = None
    key_variable: str | None = None
    models: dict[str, ModelSetting] = {}


class Allowance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for input and output tokens together, and for dollars; None for no limit."""

    tokens: int | None = None
    dollars: float | None = None

    def at_most(self, other: "Allowance") -> "Allowance":
        return Allowance(
            tokens=_lower(self.tokens, other.tokens), dollars=_lower(self.dollars, other.dollars)
        )

    def over(self, other: "Allowance") -> "Allowance":
        """Return these limits, with those of the other where these are None."""
        return Allowance(
            tokens=other.tokens if self.tokens is None else self.tokens,
            dollars=other.dollars if self.dollars is None else self.dollars,
        )

    def __str__(self) -> str:
        """Format the limits for `parse_allowance`."""
        dollars = [] if self.dollars is None else [f"${self.dollars!r}"]
        tokens = [] if self.tokens is None else [str(self.tokens)]
        return ",".join([*dollars, *tokens])


class BudgetSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Spending limits for a turn, a session, and a day over all sessions."""

    turn: Allowance = Allowance()
    session: Allowance = Allowance()
    day: Allowance = Allowance()

    def over(self, other: "BudgetSetting") -> "BudgetSetting":
        """Return these limits, with those of the other where these are None."""
        return BudgetSetting(
            turn=self.turn.over(other.turn),
            session=self.session.over(other.session),
            day=self.day.over(other.day),
        )

    def at_most(self, other: "BudgetSetting") -> "BudgetSetting":
        """Return the lower limits of both."""
        return BudgetSetting(
            turn=self.turn.at_most(other.turn),
            session=self.session.at_most(other.session),
            day=self.day.at_most(other.day),
        )


def parse_allowance(text: str) -> Allowance:
    """Parse limits such as `$0.50`, `200000`, `200k`, or `$1,2m` for both. Raises InvalidInput."""
    found = Allowance()
    for word in text.replace(" ", "").lower().split(","):
        dollars = word.startswith("$")
        number = _number(word.removeprefix("$"), {} if dollars else {"k": 1e3, "m": 1e6})
        if number is None:
            raise InvalidInput(
                f'"{text}" is not a valid budget.',
                suggestion="For example: $0.50, or 200k for tokens, or both: $0.50,200k",
            )
        found = (
            msgspec.structs.replace(found, dollars=number)
            if dollars
            else msgspec.structs.replace(found, tokens=int(number))
        )
    return found


def budget_variable(scope: BudgetScope) -> str:
    """Return the environment variable that sets a budget for one run."""
    return f"PORTICO_BUDGET_{scope.upper()}"


def budgets_of_environment(environ: Mapping[str, str]) -> BudgetSetting:
    """Return the budgets set in the environment. Raises InvalidInput for a bad variable."""
    found: dict[str, Allowance] = {}
    for scope in get_args(BudgetScope):
        if text := environ.get(budget_variable(scope), "").strip():
            try:
                found[scope] = parse_allowance(text)
            except InvalidInput as error:
                message = f"{budget_variable(scope)}: {error.message}"
                raise InvalidInput(message, suggestion=error.suggestion) from error
    return BudgetSetting(**found)


def _number(word: str, scales: dict[str, float]) -> float | None:
    scale = scales.get(word[-1:], 1)
    try:
        number = float(word[:-1] if word[-1:] in scales else word) * scale
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _lower(one: _Number | None, other: _Number | None) -> _Number | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
