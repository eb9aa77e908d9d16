"""Builds the pydantic-ai client of a provider, importing its package on demand.

Keys and addresses are handed in. No client is left to look for a key by itself: it might find the key
of one company and send it to the address of another.
"""

import ipaddress
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.models.optional_imports import import_guard
from portico.porter.models.providers import ModelProvider

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider as WireProvider

_NO_KEY = "none"
"""For servers that want no key: the clients insist on having one."""

_IDLE_SECONDS = 2.0
"""How long a connection on this machine is used again. Servers here end one after 5 s, just when the client's own
limit would: a request in that moment would be lost."""


class RequestTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request goes, and as whom."""

    provider: ModelProvider
    model: str
    address: str | None
    key: str | None
    environ: Mapping[str, str]


class ProviderClient(NamedTuple):
    """A model to send to. `connections`, where there are any, are for whoever has it to close."""

    model: "Model"
    connections: "AsyncClient | None"


def build_client(place: RequestTarget) -> ProviderClient:
    """Make the client of a model. It imports for a second or more, so call it in a thread.

    Raises InvalidInput when a package is missing or broken, or the provider rejects the name of the model.
    """
    with import_guard(f"The provider {place.provider.name}", place.provider.extra):
        client = _build(place)
        # Imported here, and not by the first request in the event loop.
        import_module("portico.porter.models.response_stream")
        import_module("portico.porter.models.failures")
        return client


def _build(place: RequestTarget) -> ProviderClient:
    from pydantic_ai.exceptions import UserError

    connections = _direct(place.address)
    try:
        model = _BUILDERS[place.provider.kind](place, connections)
        # What is known of the model is looked up now, where it delays nobody.
        _ = model.profile
    except UserError as error:
        name = place.provider.name
        raise InvalidInput(
            f"{name} cannot be asked for {place.model!r}: {error}",
            suggestion=f"See what there is with: portico models list {name}",
        ) from error
    return ProviderClient(model, connections)


def _anthropic(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(
        place.model,
        provider=AnthropicProvider(api_key=place.key or _NO_KEY, base_url=place.address, http_client=http),
    )


def _openai_provider(place: RequestTarget, http: "AsyncClient | None") -> "WireProvider[AsyncOpenAI]":
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = place.key or _NO_KEY
    if place.provider.name in ("openai", "openai-chat"):
        return OpenAIProvider(base_url=place.address, api_key=key, http_client=http)
    return OpenAICompatibleProvider(
        place.provider.name,
        base_url=_known_address(place),
        api_key=key,
        http_client=http,
    )


def _openai(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(place.model, provider=_openai_provider(place, http))


def _openai_chat(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel(place.model, provider=_openai_provider(place, http))


def _google(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(
        place.model,
        provider=GoogleProvider(api_key=place.key or _NO_KEY, base_url=place.address, http_client=http),
    )


def _mistral(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(
        place.model,
        provider=MistralProvider(api_key=place.key or _NO_KEY, base_url=place.address, http_client=http),
    )


def _groq(place: RequestTarget, _http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.groq import GroqModel
    from pydantic_ai.providers.groq import GroqProvider

    return GroqModel(place.model, provider=GroqProvider(api_key=place.key or _NO_KEY, base_url=place.address))


def _openrouter(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from openai import AsyncOpenAI
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    key = place.key or _NO_KEY
    if place.address is None:
        return OpenRouterModel(place.model, provider=OpenRouterProvider(api_key=key, app_title="Portico"))
    client = AsyncOpenAI(base_url=place.address, api_key=key, http_client=http)
    return OpenRouterModel(place.model, provider=OpenRouterProvider(openai_client=client))


def _azure(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    return OpenAIChatModel(
        place.model,
        provider=AzureProvider(
            azure_endpoint=_known_address(place),
            api_version=place.environ.get("OPENAI_API_VERSION"),
            api_key=place.key or _NO_KEY,
            http_client=http,
        ),
    )


def _bedrock(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    from portico.porter.models.bedrock import bedrock_client

    own = place.provider.name != "bedrock"
    client = bedrock_client(
        key=place.key or (_NO_KEY if own else None),
        address=place.address,
        region=place.environ.get("AWS_REGION") or place.environ.get("AWS_DEFAULT_REGION"),
        direct=http is not None,
    )
    return BedrockConverseModel(place.model, provider=BedrockProvider(bedrock_client=client))


def _ollama(place: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    return OllamaModel(
        place.model,
        provider=OllamaProvider(base_url=place.address, api_key=place.key or _NO_KEY, http_client=http),
    )


_BUILDERS: dict[str, Callable[[RequestTarget, "AsyncClient | None"], "Model"]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "openai-chat": _openai_chat,
    "google": _google,
    "mistral": _mistral,
    "groq": _groq,
    "openrouter": _openrouter,
    "azure": _azure,
    "bedrock": _bedrock,
    "ollama": _ollama,
    "offline": _openai_chat,
}


def _known_address(place: RequestTarget) -> str:
    if place.address is None:
        raise InvalidInput(
            f"The address of {place.provider.name} is not known.",
            suggestion=f"Set {place.provider.address_variable}, or models.{place.provider.name}.address in the settings.",
        )
    return place.address


def _direct(address: str | None) -> "AsyncClient | None":
    """A client that goes past any proxy, for an address on this machine; None leaves it to the provider."""
    if address is None or not is_loopback(address):
        return None
    import httpx2
    from pydantic_ai.models import create_async_httpx2_client

    limits = httpx2.Limits(keepalive_expiry=_IDLE_SECONDS)
    return create_async_httpx2_client(transport=httpx2.AsyncHTTPTransport(limits=limits))


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
