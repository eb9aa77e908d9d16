"""Lists the models of a provider, from `genai-prices` or from the provider's own endpoint."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException

import msgspec

from portico.domain.errors import InvalidInput, ModelTimedOut
from portico.porter.models.clients import is_loopback
from portico.porter.models.keys import need_key
from portico.porter.models.optional_imports import import_guard
from portico.porter.models.providers import BUILT_IN, OFFLINE, ModelProvider

_LISTED_AS = {"bedrock": "aws", "openai-chat": "openai"}
_SECONDS = 10.0
_MAX_BYTES = 8 * 1024 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a key must not go to an address that a server names."""

    def redirect_request(self, *_: object) -> None:
        return None


class CatalogModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A model in a provider's list. Prices are in dollars per million tokens; an offline model has a size in bytes."""

    name: str
    window: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    size: int | None = None
    pulled: bool | None = None


async def models_of(provider: ModelProvider, environ: Mapping[str, str]) -> list[CatalogModel]:
    """Return the published list of a built-in provider; other addresses are queried."""
    if provider.kind == OFFLINE:
        from portico.porter.models.offline.model_files import offered_files

        return [
            CatalogModel(name=file.name, window=file.window, size=file.size, pulled=pulled)
            for file, pulled in offered_files(environ)
        ]
    own_address = provider.address_in(environ)
    if provider.name in BUILT_IN and provider.name != "ollama":
        return await asyncio.to_thread(published, provider)
    if own_address is None:
        return []
    return await asyncio.to_thread(_query, provider, own_address, need_key(provider, environ))


def published(provider: ModelProvider) -> list[CatalogModel]:
    """Return the models of a provider from the published list. Raises InvalidInput if it is not installed."""
    with import_guard("The list of models", "models"):
        from genai_prices.data_snapshot import get_snapshot
    wanted = _LISTED_AS.get(provider.kind, provider.kind)
    found = []
    for listed in get_snapshot().providers:
        for model in listed.models if listed.id == wanted else ():
            prices = model.prices if not isinstance(model.prices, list) else model.prices[-1].prices
            costs = [_dollars(getattr(prices, unit, None)) for unit in ("input_mtok", "output_mtok")]
            # Models without both prices are not chat models.
            if not model.deprecated and all(cost is not None for cost in costs):
                found.append(
                    CatalogModel(
                        name=model.id,
                        window=model.context_window,
                        input_price=costs[0],
                        output_price=costs[1],
                    )
                )
    return sorted(found, key=lambda one: one.name)


def _dollars(price: object) -> float | None:
    base = getattr(price, "base", price)
    return None if base is None else float(str(base))


def _query(provider: ModelProvider, address: str, key: str | None) -> list[CatalogModel]:
    request = urllib.request.Request(f"{address.rstrip('/')}/models")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    if request.type not in ("http", "https"):
        raise InvalidInput(
            f"{address} is not a web address.", suggestion="It must begin with http:// or https://"
        )
    past_proxies = [urllib.request.ProxyHandler({})] if is_loopback(address) else []
    opener = urllib.request.build_opener(_NoRedirects(), *past_proxies)
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            listed = json.loads(answer.read(_MAX_BYTES))["data"]
        return sorted((CatalogModel(name=str(one["id"])) for one in listed), key=lambda one: one.name)
    except (OSError, HTTPException) as error:
        raise ModelTimedOut(
            f"{provider.name} at {address} cannot be reached: {error}",
            suggestion="Check that it is running and that the address is right.",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ModelTimedOut(
            f"{provider.name} at {address} does not list its models.",
            suggestion=f"You can still use a model by name: portico models use {provider.name}:MODEL",
        ) from error
