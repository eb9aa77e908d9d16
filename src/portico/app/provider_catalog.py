"""Catalog of model providers: which are ready, which need a key, and their models."""

from collections.abc import Mapping, Sequence

from portico.config.settings import Settings
from portico.domain.catalog import DownloadEntry, ProviderEntry
from portico.domain.errors import InvalidInput
from portico.porter.models.catalog import published
from portico.porter.models.keys import has_key
from portico.porter.models.offline.model_files import KNOWN, is_ready, pulled_files
from portico.porter.models.providers import BUILT_IN, OFFLINE, ModelProvider, providers
from portico.porter.models.readiness import readiness
from portico.porter.models.selection import default_model


def list_providers(settings: Settings, environ: Mapping[str, str]) -> tuple[Sequence[ProviderEntry], str]:
    """All providers, and the default model. InvalidInput for an invalid provider in the settings. Reads files."""
    listed = []
    for provider in providers(settings.models).values():
        ready, detail = readiness(provider, environ)
        own = settings.models.get(provider.name)
        pulled = [file.name for file in pulled_files(environ)] if provider.kind == OFFLINE else []
        names = (*pulled, provider.example, *(own.models if own else ()), *_published(provider))
        listed.append(
            ProviderEntry(
                name=provider.name,
                title=provider.title,
                ready=ready,
                detail=detail,
                key_variable=provider.key_variables[0] if provider.key_variables else "",
                needs_key=provider.installed and provider.needs_key and not ready,
                has_key=has_key(provider, environ),
                models=tuple(dict.fromkeys(filter(None, names))),
                downloads=_downloads(environ) if provider.name == OFFLINE and provider.installed else (),
            )
        )
    return listed, default_model(settings.model, environ) or ""


def _downloads(environ: Mapping[str, str]) -> tuple[DownloadEntry, ...]:
    return tuple(
        DownloadEntry(
            name=f"{OFFLINE}:{file.name}",
            title=file.title,
            size=file.size,
            license=file.license,
            origin=file.origin,
            abilities=file.abilities,
            done=is_ready(file, environ),
        )
        for file in KNOWN.values()
        if not file.tiny
    )


def _published(provider: ModelProvider) -> list[str]:
    """Published models, if the list of them is installed."""
    if provider.name not in BUILT_IN:
        return []
    try:
        return [model.name for model in published(provider)]
    except InvalidInput:
        return []
