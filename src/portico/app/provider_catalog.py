"""Catalog of model providers: which are ready, which need a key, and their models."""

from collections.abc import Mapping

from portico.config.settings import Settings
from portico.domain.errors import InvalidInput
from portico.doors.api.catalog import ProviderList, ProviderSummary
from portico.porter.models.catalog import published
from portico.porter.models.keys import has_key
from portico.porter.models.providers import BUILT_IN, ModelProvider, providers
from portico.porter.models.readiness import readiness
from portico.porter.models.selection import default_model


def list_providers(settings: Settings, environ: Mapping[str, str]) -> ProviderList:
    """InvalidInput when the settings have one that makes no sense. Reads files."""
    listed = []
    for provider in providers(settings.models).values():
        ready, detail = readiness(provider, environ)
        own = settings.models.get(provider.name)
        names = (provider.example, *(own.models if own else ()), *_published(provider))
        listed.append(
            ProviderSummary(
                name=provider.name,
                title=provider.title,
                ready=ready,
                detail=detail,
                key_variable=provider.key_variables[0] if provider.key_variables else "",
                needs_key=provider.installed and provider.needs_key and not ready,
                has_key=has_key(provider, environ),
                models=tuple(dict.fromkeys(filter(None, names))),
            )
        )
    return ProviderList(providers=tuple(listed), model=default_model(settings.model, environ) or "")


def _published(provider: ModelProvider) -> list[str]:
    """None where only the provider itself could tell, or the list is not installed."""
    if provider.name not in BUILT_IN:
        return []
    try:
        return [model.name for model in published(provider)]
    except InvalidInput:
        return []
