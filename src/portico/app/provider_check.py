"""Check of a key and its provider, or of the person's own server, before anything is stored."""

from collections.abc import Mapping

import msgspec

from portico.api.v1 import agent_pb as pb
from portico.config.model_settings import ProviderSetting
from portico.config.settings import Settings
from portico.domain.catalog import ProviderCheck
from portico.domain.errors import AuthRequired, InvalidInput, ModelTimedOut
from portico.porter.models.keys import find_key, has_key
from portico.porter.models.model_server import list_models, own_server, request_address
from portico.porter.models.providers import ModelProvider, find_provider, parse_model_name, providers


def check_provider(
    request: pb.CheckProviderRequest, settings: Settings, environ: Mapping[str, str]
) -> ProviderCheck:
    """Ask a provider about a key. Blocks. Raises InvalidInput for an address that is not one of the web."""
    if request.server is None:
        return check_key(request.key_variable, request.key, settings, environ)
    name, setting = own_server(request.server.address, request.server.kind or "openai-chat", settings.models)
    provider = find_provider(name, {name: setting})
    checked = ask_provider(provider, request.key, environ)
    return msgspec.structs.replace(
        checked, provider=name, address=setting.address or "", key_variable=setting.key_variable or ""
    )


def check_key(variable: str, key: str, settings: Settings, environ: Mapping[str, str]) -> ProviderCheck:
    """Ask the provider of a key about it; about the stored one if it is empty."""
    known = providers(settings.models).values()
    provider = next((one for one in known if variable in one.key_variables), None)
    if provider is None:
        return ProviderCheck(verdict="unknown", detail=f"The provider of {variable} is not known.")
    if not key and not has_key(provider, environ):
        return ProviderCheck(verdict="unknown", detail=f"{variable} is not stored.")
    return ask_provider(provider, key, environ)


def ask_provider(provider: ModelProvider, key: str, environ: Mapping[str, str]) -> ProviderCheck:
    """Ask a provider about a key, or about the stored one if it is empty. Blocks."""
    address = request_address(provider, environ)
    if address is None:
        return ProviderCheck(verdict="unknown", detail=f"{provider.title} cannot be asked about a key.")
    try:
        stored = None if key else find_key(provider, environ)
        listed = list_models(provider, address, key or (stored.value if stored else None))
    except AuthRequired as error:
        return ProviderCheck(verdict="refused", detail=error.message)
    except ModelTimedOut as error:
        return ProviderCheck(verdict="unknown", detail=error.message)
    return ProviderCheck(verdict="accepted", models=tuple(model.name for model in listed))


def trial_of(
    request: pb.CompleteModelRequest, settings: Settings
) -> tuple[dict[str, ProviderSetting], dict[str, str]]:
    """Return the provider and the environment variable that a request tries. Raises InvalidInput for a bad one."""
    if request.server is None and not request.key:
        return {}, {}
    name = parse_model_name(request.model).provider
    tried: dict[str, ProviderSetting] = {}
    if request.server is not None:
        server, models = request.server, settings.models
        _, setting = own_server(server.address, server.kind or "openai-chat", models)
        is_open = not request.key and name not in models
        tried[name] = msgspec.structs.replace(setting, key_variable=None) if is_open else setting
    if not request.key:
        return tried, {}
    provider = find_provider(name, {**settings.models, **tried})
    if not provider.key_variables:
        raise InvalidInput(f"{provider.name} takes no key.")
    return tried, {provider.key_variables[0]: request.key}
