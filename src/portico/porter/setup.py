"""What is configured for a workspace: model, spending limit, scenarios and trust."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico.domain.errors import InvalidInput

if TYPE_CHECKING:
    from portico.porter.models.model import KnownModel, Model
    from portico.porter.models.spending_limit import SpendingLimit


def _no_model(name: str) -> "Model":
    raise InvalidInput(f"The model {name} cannot be opened here.")


def _nobody_chose() -> None:
    return None


def _none_known() -> "tuple[KnownModel, ...]":
    return ()


def _any_name(_name: str) -> None:
    return None


class PorterSetup(msgspec.Struct, frozen=True, kw_only=True):
    """`choose` names the model to open when nobody names another; None without any. `scenarios` is a folder.

    `known` are the models that a person is offered, `check` is InvalidInput for a name that cannot be any.

    `purse` makes the purse of a session from the tokens and dollars that it has spent.
    """

    choose: Callable[[], str | None] = _nobody_chose
    open: Callable[[str], "Model"] = _no_model
    known: "Callable[[], tuple[KnownModel, ...]]" = _none_known
    check: Callable[[str], None] = _any_name
    spending_limit: "Callable[[int, float], SpendingLimit] | None" = None
    scenarios: Path | None = None
    trusted: bool = False


SetupReader = Callable[[Path], PorterSetup]
"""Reads what holds in a workspace now. Blocks. InvalidInput when a settings file is broken."""


def empty_setup(_workspace: Path) -> PorterSetup:
    """No model, no settings: what Porter does alone."""
    return PorterSetup()
