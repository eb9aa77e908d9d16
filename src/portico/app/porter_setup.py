"""Porter's setup from settings and environment: model, budgets, scenarios, trust.

A session needs the settings when it is opened, and everything about models only when one is used.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from portico.config.model_settings import ProviderSetting
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.catalog import ModelEntry
from portico.porter.setup import PorterSetup

if TYPE_CHECKING:
    from portico.porter.models.model import Model
    from portico.porter.models.spending_limit import SpendingLimit


_NO_PROVIDERS: Mapping[str, ProviderSetting] = MappingProxyType({})


def read_setup(
    workspace: Path, environ: Mapping[str, str], tried: Mapping[str, ProviderSetting] = _NO_PROVIDERS
) -> PorterSetup:
    """Read the settings of a workspace, with providers to try. Raises InvalidInput if a settings file is broken."""
    folder = config_folder(environ)
    settings = load_settings(folder, workspace)
    models = {**settings.models, **tried}

    def choose() -> str | None:
        from portico.porter.models.selection import default_model

        return default_model(settings.model, environ)

    def open_named(name: str) -> "Model":
        from portico.porter.models.selection import open_model

        return open_model(name, models, environ)

    def known() -> tuple[ModelEntry, ...]:
        from portico.porter.models.known_models import known_models

        return known_models(models, environ)

    def check(name: str) -> None:
        from portico.porter.models.providers import find_provider, parse_model_name

        find_provider(parse_model_name(name).provider, models)

    def preload(name: str) -> None:
        from portico.porter.models.clients import import_client
        from portico.porter.models.providers import find_provider, parse_model_name

        import_client(find_provider(parse_model_name(name).provider, models))

    def spending_limit(tokens: int, dollars: float) -> "SpendingLimit":
        from portico.porter.models.budget import Budget, effective_limits, is_chosen
        from portico.porter.models.ledger import SpentTotal, day_ledger

        limits = effective_limits(settings, environ)
        spent = SpentTotal(tokens, dollars)
        return Budget(limits, day_ledger(environ), session=spent, chosen=is_chosen(limits))

    return PorterSetup(
        choose=choose,
        open=open_named,
        known=known,
        check=check,
        preload=preload,
        spending_limit=spending_limit,
        scenarios=folder / "scenarios",
        trusted=settings.trusted,
    )
