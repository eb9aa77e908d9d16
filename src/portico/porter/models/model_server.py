"""Requests to a model server for its list of models, which also show whether it accepts a key."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import msgspec

from portico.config.model_settings import ProviderSetting
from portico.domain.errors import AuthRequired, InvalidInput, ModelTimedOut
from portico.porter.models.clients import is_loopback
from portico.porter.models.providers import BUILT_IN, ModelProvider

_SECONDS = 10.0
_MAX_BYTES = 8 * 1024 * 1024
_ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openai-chat": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com",
    "openrouter": "https://openrouter.ai/api/v1",
}
_PATHS = {"anthropic": "/v1/models", "groq": "/openai/v1/models", "openrouter": "/key"}
"""Paths other than `/models`. OpenRouter lists its models without a key, so it is asked about the key itself."""
_NO_SCHEME = "Start it with http:// or https://"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a key must not go to an address that a server names."""

    def redirect_request(self, *_: object) -> None:
        return None


class ListedModel(msgspec.Struct, frozen=True):
    """A model as its server lists it; `owner` often names the program that serves it."""

    name: str
    owner: str = ""


def request_address(provider: ModelProvider, environ: Mapping[str, str]) -> str | None:
    """Return the address of a provider's server; None if only its own client knows it."""
    if provider.kind not in (*_ADDRESSES, "ollama"):
        return None
    return provider.address_in(environ) or _ADDRESSES.get(provider.kind)


def list_models(
    provider: ModelProvider, address: str, key: str | None, *, seconds: float = _SECONDS
) -> list[ListedModel]:
    """Ask a server for its models. Blocks.

    Raises AuthRequired if it refuses the key, and ModelTimedOut if it does not list its models.
    """
    request = urllib.request.Request(f"{address.rstrip('/')}{_PATHS.get(provider.kind, '/models')}")
    if request.type not in ("http", "https"):
        raise InvalidInput(f"{address} is not a web address.", suggestion=_NO_SCHEME)
    for name, value in _key_headers(provider.kind, key).items():
        request.add_header(name, value)
    past_proxies = [urllib.request.ProxyHandler({})] if is_loopback(address) else []
    opener = urllib.request.build_opener(_NoRedirects(), *past_proxies)
    try:
        with opener.open(request, timeout=seconds) as answer:
            return _listed(json.loads(answer.read(_MAX_BYTES)))
    except urllib.error.HTTPError as error:
        raise _refusal(provider, address, error) from error
    except (OSError, HTTPException) as error:
        raise ModelTimedOut(
            f"{provider.name} at {address} cannot be reached: {error}",
            suggestion="Check that it is running and that the address is right.",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _unlisted(provider, address) from error


def own_server(
    address: str, kind: str, settings: Mapping[str, ProviderSetting]
) -> tuple[str, ProviderSetting]:
    """Return a name and a setting for a server of the person's own; those it has already, if it is known.

    Raises InvalidInput for an address that is not one of the web.
    """
    if kind not in BUILT_IN:
        raise InvalidInput(
            f'Unknown kind "{kind}" of a server.', suggestion=f"Available: {', '.join(BUILT_IN)}."
        )
    place = _normal_address(address, kind)
    for name, setting in settings.items():
        if setting.address == place and (setting.kind or "openai-chat") == kind:
            return name, setting
    parts = urlsplit(place)
    stem = re.sub(r"[^a-z0-9]+", "-", f"{parts.hostname} {parts.port or ''}".lower()).strip("-")
    taken = {*BUILT_IN, *settings}
    name = next(
        one
        for one in (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
        if one not in taken
    )
    variable = f"PORTICO_{name.replace('-', '_').upper()}_KEY"
    return name, ProviderSetting(kind=kind, address=place, key_variable=variable)


def _normal_address(address: str, kind: str) -> str:
    """Return the address as the clients of its API expect it: with `/v1` for OpenAI's, without for Anthropic's."""
    text = address.strip().rstrip("/")
    wrong = InvalidInput(f"{address.strip()} is not a web address.", suggestion=_NO_SCHEME)
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise wrong from error
    if not valid or parts.username or parts.query or parts.fragment:
        raise wrong
    if kind == "anthropic":
        return text.removesuffix("/v1")
    return f"{text}/v1" if not parts.path else text


def _key_headers(kind: str, key: str | None) -> dict[str, str]:
    if kind == "anthropic":
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    if kind == "google":
        return {"x-goog-api-key": key} if key else {}
    return {"Authorization": f"Bearer {key}"} if key else {}


def _listed(answer: Any) -> list[ListedModel]:
    if "models" in answer:  # Google's
        return [ListedModel(str(one["name"]).removeprefix("models/")) for one in answer["models"]]
    if not isinstance(answer["data"], list):  # OpenRouter's description of a key
        return []
    found = (ListedModel(str(one["id"]), str(one.get("owned_by", ""))) for one in answer["data"])
    return sorted(found, key=lambda one: one.name)


def _refusal(
    provider: ModelProvider, address: str, error: urllib.error.HTTPError
) -> AuthRequired | ModelTimedOut:
    # Google answers a wrong key with 400. A key with 403 may still be good for requests.
    refused = error.code == 401 or (error.code == 400 and b"API_KEY_INVALID" in error.read(_MAX_BYTES))
    if refused:
        return AuthRequired(
            f"{provider.name} rejected the key ({error.code}).", suggestion="Check it, or make a new one."
        )
    return _unlisted(provider, address)


def _unlisted(provider: ModelProvider, address: str) -> ModelTimedOut:
    return ModelTimedOut(
        f"{provider.name} at {address} does not list its models.",
        suggestion=f"You can still use a model by name: portico models use {provider.name}:MODEL",
    )
