"""Lists the models of a provider, from `genai-prices` or from the provider's own endpoint."""

import asyncio
from collections.abc import Mapping

import msgspec

from portico.porter.models.keys import need_key
from portico.porter.models.model_server import list_models
from portico.porter.models.optional_imports import import_guard
from portico.porter.models.providers import BUILT_IN, OFFLINE, ModelProvider

_LISTED_AS = {"bedrock": "aws", "openai-chat": "openai"}


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
    key = need_key(provider, environ)
    listed = await asyncio.to_thread(list_models, provider, own_address, key)
    return [CatalogModel(name=model.name) for model in listed]


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
