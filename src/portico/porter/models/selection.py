"""Opens a model by name, and finds the default model of the environment and settings."""

from collections.abc import Mapping

from portico.config.model_settings import MODEL_VARIABLE, ModelSetting, ProviderSetting
from portico.porter.models.clients import RequestTarget
from portico.porter.models.keys import need_key
from portico.porter.models.model import Model
from portico.porter.models.providers import OFFLINE, ModelName, find_provider, parse_model_name
from portico.porter.models.remote_model import RemoteModel


def open_model(name: str, settings: Mapping[str, ProviderSetting], environ: Mapping[str, str]) -> Model:
    """Open the model `provider:model`. Nothing is imported, started or sent before its first use.

    `settings` is the setting `models`. Raises InvalidInput for an invalid name, AuthRequired for a missing key.
    """
    wanted = parse_model_name(name)
    provider = find_provider(wanted.provider, settings)
    setting = _model_setting(wanted, settings)
    if provider.kind == OFFLINE:
        from portico.porter.models.offline.model import OfflineModel

        return OfflineModel(wanted, setting, environ)
    need_key(provider, environ)

    async def locate() -> RequestTarget:
        return RequestTarget(
            provider=provider,
            model=wanted.model,
            address=provider.address_in(environ),
            key=need_key(provider, environ),
            environ=environ,
        )

    return RemoteModel(str(wanted), locate, setting)


def default_model(setting: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the model of the environment, of the settings, or an offline model that was pulled."""
    if name := environ.get(MODEL_VARIABLE, "").strip() or setting:
        return name
    from portico.porter.models.offline.model_files import preferred_file

    file = preferred_file(environ)
    return f"{OFFLINE}:{file.name}" if file else None


def _model_setting(name: ModelName, settings: Mapping[str, ProviderSetting]) -> ModelSetting:
    provider = settings.get(name.provider)
    return provider.models.get(name.model, ModelSetting()) if provider else ModelSetting()
