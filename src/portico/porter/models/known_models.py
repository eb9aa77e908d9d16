"""The models a user is offered: of providers with a key, of the settings, and offline.

No provider is queried; any other model of a provider can be used by name.
"""

from collections.abc import Iterator, Mapping

from portico.config.model_settings import ProviderSetting
from portico.domain.catalog import ModelEntry
from portico.porter.models.keys import has_key
from portico.porter.models.offline.model_files import pulled_files
from portico.porter.models.providers import OFFLINE, ModelProvider, providers

_NAMED_BY_THE_PERSON = ("azure",)
"""Providers whose models have names of the user's own, so that no example is offered."""


def known_models(
    settings: Mapping[str, ProviderSetting], environ: Mapping[str, str]
) -> tuple[ModelEntry, ...]:
    """List the models in the order of providers. Raises InvalidInput for an invalid provider in the settings."""
    return tuple(
        model
        for provider in providers(settings).values()
        for model in _models(provider, settings.get(provider.name, ProviderSetting()), environ)
    )


def _models(
    provider: ModelProvider, setting: ProviderSetting, environ: Mapping[str, str]
) -> Iterator[ModelEntry]:
    if provider.kind == OFFLINE:
        for file in pulled_files(environ):
            about = f"{'tiny; ' if file.tiny else ''}needs no key and no network"
            yield ModelEntry(
                f"{OFFLINE}:{file.name}", about, window=file.window, tools=file.tools, images=False
            )
        return
    if not provider.installed or (provider.needs_key and not has_key(provider, environ)):
        return
    for name, model in setting.models.items():
        yield ModelEntry(
            f"{provider.name}:{name}",
            provider.title,
            window=model.window,
            tools=model.tools is not False,
            images=model.images is not False,
        )
    usual = provider.needs_key and provider.name not in _NAMED_BY_THE_PERSON
    if usual and provider.example and provider.example not in setting.models:
        yield ModelEntry(f"{provider.name}:{provider.example}", provider.title)
