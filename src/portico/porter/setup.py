"""Porter's configuration for a workspace: model, spending limit, scenarios and trust."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico.domain.catalog import ModelEntry
from portico.domain.errors import InvalidInput

if TYPE_CHECKING:
    from portico.porter.models.model import Model
    from portico.porter.models.spending_limit import SpendingLimit


def _no_model(name: str) -> "Model":
    raise InvalidInput(f"The model {name} cannot be opened here.")


def _ignore(_name: str) -> None:
    return None


class PorterSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a workspace, as functions for what costs time. They block.

    `choose` names the default model, None without one. `known` lists the models a user is offered. `check` raises
    InvalidInput for a name that no provider can have. `preload` imports what a model needs. `spending_limit` makes
    the limit of a session from the tokens and dollars it has spent. `scenarios` is a folder.
    """

    choose: Callable[[], str | None] = lambda: None
    open: Callable[[str], "Model"] = _no_model
    known: "Callable[[], tuple[ModelEntry, ...]]" = lambda: ()
    check: Callable[[str], None] = _ignore
    preload: Callable[[str], None] = _ignore
    spending_limit: "Callable[[int, float], SpendingLimit] | None" = None
    scenarios: Path | None = None
    trusted: bool = False


SetupReader = Callable[[Path], PorterSetup]
"""Reads the settings of a workspace. Blocks. Raises InvalidInput if a settings file is broken."""


def empty_setup(_workspace: Path) -> PorterSetup:
    """Return a setup without a model and settings."""
    return PorterSetup()
