"""What the person's settings and environment mean for Porter: its model, its budgets, its scenarios.

A session needs the settings when it is opened, and whatever has to do with models only when one is asked.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.porter.setup import KnownModel, Setup

if TYPE_CHECKING:
    from portico.porter.loop.tally import Purse
    from portico.porter.models.port import Model


def read_setup(workspace: Path, environ: Mapping[str, str]) -> Setup:
    """What holds in a workspace now. InvalidInput when a settings file is broken."""
    folder = config_folder(environ)
    settings = load_settings(folder, workspace)

    def choose() -> str | None:
        from portico.porter.models.opening import chosen_model

        return chosen_model(settings.model, environ)

    def open_named(name: str) -> "Model":
        from portico.porter.models.opening import open_model

        return open_model(name, settings.models, environ)

    def known() -> tuple[KnownModel, ...]:
        from portico.porter.models.known import known_models

        return known_models(settings.models, environ)

    def check(name: str) -> None:
        from portico.porter.models.providers import find_provider, parse_model_name

        find_provider(parse_model_name(name).provider, settings.models)

    def purse(tokens: int, dollars: float) -> "Purse":
        from portico.porter.models.budgets import Budget, allowances
        from portico.porter.models.spending import Spent, day_ledger

        limits = allowances(settings.budgets, environ)
        return Budget(limits, day_ledger(environ), session=Spent(tokens, dollars))

    return Setup(
        choose=choose,
        open=open_named,
        known=known,
        check=check,
        purse=purse,
        scenarios=folder / "scenarios",
        trusted=settings.trusted,
    )
