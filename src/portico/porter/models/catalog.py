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
    """A key is for the address that the person gave, and for none that a server names."""

    def redirect_request(self, *_: object) -> None:
        return None


class CatalogModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A model that can be used. Prices are dollars for a million tokens."""

    name: str
    window: int | None = None
    input_price: float | None = None
    output_price: float | None = None


async def models_of(provider: ModelProvider, environ: Mapping[str, str]) -> list[CatalogModel]:
    """The published list for companies; any other address is asked itself."""
    if provider.kind == OFFLINE:
        from portico.porter.models.offline.model_files import KNOWN

        return [CatalogModel(name=file.name, window=file.window) for file in KNOWN.values()]
    own_address = provider.address_in(environ)
    if provider.name in BUILT_IN and provider.name != "ollama":
        return await asyncio.to_thread(published, provider)
    if own_address is None:
        return []
    return await asyncio.to_thread(_asked, provider, own_address, need_key(provider, environ))


def published(provider: ModelProvider) -> list[CatalogModel]:
    """Those of a company, without asking it. InvalidInput when the list is not installed."""
    with import_guard("The list of models", "models"):
        from genai_prices.data_snapshot import get_snapshot
    wanted = _LISTED_AS.get(provider.kind, provider.kind)
    found = []
    for listed in get_snapshot().providers:
        for model in listed.models if listed.id == wanted else ():
            prices = model.prices if not isinstance(model.prices, list) else model.prices[-1].prices
            costs = [_dollars(getattr(prices, unit, None)) for unit in ("input_mtok", "output_mtok")]
            # What has no price for both is no model to talk to: it paints, listens or embeds.
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


def _asked(provider: ModelProvider, address: str, key: str | None) -> list[CatalogModel]:
    request = urllib.request.Request(f"{address.rstrip('/')}/models")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    if request.type not in ("http", "https"):
        raise InvalidInput(f"{address} is no web address.", suggestion="It begins with http:// or https://")
    past_proxies = [urllib.request.ProxyHandler({})] if is_loopback(address) else []
    opener = urllib.request.build_opener(_NoRedirects(), *past_proxies)
    try:
        with opener.open(request, timeout=_SECONDS) as answer:
            listed = json.loads(answer.read(_MAX_BYTES))["data"]
        return sorted((CatalogModel(name=str(one["id"])) for one in listed), key=lambda one: one.name)
    except (OSError, HTTPException) as error:
        raise ModelTimedOut(
            f"{provider.name} at {address} cannot be asked: {error}",
            suggestion="Is it running, and is the address right?",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ModelTimedOut(
            f"{provider.name} at {address} does not list its models.",
            suggestion=f"Name one of them all the same: portico models use {provider.name}:MODEL",
        ) from error
