"""Builds the pydantic-ai client of a provider, importing its package on demand.

Keys and addresses are passed in. No client looks for a key by itself: it might send the key of one company
to the address of another.
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
"""Sent to servers that need no key, because the clients require one."""

_MODULES = {
    "azure": ("openai", "azure"),
    "offline": ("openai", "openai_compatible"),
    "openai-chat": ("openai", "openai"),
}
"""Modules of pydantic-ai for models and for providers, where they are not named like the kind."""

_OWN_MODULES = ("portico.porter.models.response_stream", "portico.porter.models.failures")


class RequestTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Provider, model, address and key of a request."""

    provider: ModelProvider
    model: str
    address: str | None
    key: str | None
    environ: Mapping[str, str]


class ProviderClient(NamedTuple):
    """A pydantic-ai model. The caller closes `connections`, if there are any."""

    model: "Model"
    connections: "AsyncClient | None"


def import_client(provider: ModelProvider) -> None:
    """Import what requests to a provider need. It takes a second or more, so call it in a thread.

    Raises InvalidInput if a package is missing or broken.
    """
    with import_guard(f"The provider {provider.name}", provider.extra):
        _import(provider)


def build_client(target: RequestTarget) -> ProviderClient:
    """Create the client of a model, importing its packages. Blocks, so call it in a thread.

    Raises InvalidInput if a package is missing or broken, or the provider rejects the name of the model.
    """
    with import_guard(f"The provider {target.provider.name}", target.provider.extra):
        _import(target.provider)
        return _build(target)


def _import(provider: ModelProvider) -> None:
    model, wire = _MODULES.get(provider.kind, (provider.kind, provider.kind))
    for name in (f"pydantic_ai.models.{model}", f"pydantic_ai.providers.{wire}", *_OWN_MODULES):
        import_module(name)


def _build(target: RequestTarget) -> ProviderClient:
    from pydantic_ai.exceptions import UserError

    connections = _direct(target.address)
    try:
        model = _BUILDERS[target.provider.kind](target, connections)
        # Looks up the model's profile now, in this thread.
        _ = model.profile
    except UserError as error:
        name = target.provider.name
        raise InvalidInput(
            f'{name} rejects the model "{target.model}": {error}',
            suggestion=f"List its models with: portico models list {name}",
        ) from error
    return ProviderClient(model, connections)


def _anthropic(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(
        target.model,
        provider=AnthropicProvider(api_key=target.key or _NO_KEY, base_url=target.address, http_client=http),
    )


def _openai_provider(target: RequestTarget, http: "AsyncClient | None") -> "WireProvider[AsyncOpenAI]":
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = target.key or _NO_KEY
    if target.provider.name in ("openai", "openai-chat"):
        return OpenAIProvider(base_url=target.address, api_key=key, http_client=http)
    return OpenAICompatibleProvider(
        target.provider.name,
        base_url=_known_address(target),
        api_key=key,
        http_client=http,
    )


def _openai(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(target.model, provider=_openai_provider(target, http))


def _openai_chat(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel(target.model, provider=_openai_provider(target, http))


def _google(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(
        target.model,
        provider=GoogleProvider(api_key=target.key or _NO_KEY, base_url=target.address, http_client=http),
    )


def _mistral(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(
        target.model,
        provider=MistralProvider(api_key=target.key or _NO_KEY, base_url=target.address, http_client=http),
    )


def _groq(target: RequestTarget, _http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.groq import GroqModel
    from pydantic_ai.providers.groq import GroqProvider

    return GroqModel(
        target.model, provider=GroqProvider(api_key=target.key or _NO_KEY, base_url=target.address)
    )


def _openrouter(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from openai import AsyncOpenAI
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    key = target.key or _NO_KEY
    if target.address is None:
        return OpenRouterModel(target.model, provider=OpenRouterProvider(api_key=key, app_title="Portico"))
    client = AsyncOpenAI(base_url=target.address, api_key=key, http_client=http)
    return OpenRouterModel(target.model, provider=OpenRouterProvider(openai_client=client))


def _azure(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    return OpenAIChatModel(
        target.model,
        provider=AzureProvider(
            azure_endpoint=_known_address(target),
            api_version=target.environ.get("OPENAI_API_VERSION"),
            api_key=target.key or _NO_KEY,
            http_client=http,
        ),
    )


def _bedrock(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    from portico.porter.models.bedrock import bedrock_client

    own = target.provider.name != "bedrock"
    client = bedrock_client(
        key=target.key or (_NO_KEY if own else None),
        address=target.address,
        region=target.environ.get("AWS_REGION") or target.environ.get("AWS_DEFAULT_REGION"),
        direct=http is not None,
    )
    return BedrockConverseModel(target.model, provider=BedrockProvider(bedrock_client=client))


def _ollama(target: RequestTarget, http: "AsyncClient | None") -> "Model":
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    return OllamaModel(
        target.model,
        provider=OllamaProvider(base_url=target.address, api_key=target.key or _NO_KEY, http_client=http),
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


def _known_address(target: RequestTarget) -> str:
    if target.address is None:
        raise InvalidInput(
            f"The address of {target.provider.name} is missing.",
            suggestion=f"Set {target.provider.address_variable}, or models.{target.provider.name}.address in the settings.",
        )
    return target.address


def _direct(address: str | None) -> "AsyncClient | None":
    """Return a client that bypasses proxies for an address on this machine; None for the provider's own client."""
    if address is None or not is_loopback(address):
        return None
    import httpx2
    from pydantic_ai.models import create_async_httpx2_client

    # Local servers close kept connections without notice, and a request sent at that moment would be lost.
    limits = httpx2.Limits(max_keepalive_connections=0)
    return create_async_httpx2_client(transport=httpx2.AsyncHTTPTransport(limits=limits))


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
