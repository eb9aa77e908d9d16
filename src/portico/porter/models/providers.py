"""The built-in model providers, those of the settings, and names like `provider:model`.

Data only; no package of a provider is imported here.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec

import msgspec

from portico.config.model_settings import ProviderSetting
from portico.domain.errors import InvalidInput

OFFLINE = "offline"


class ModelProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider. `kind` is the built-in provider with the same API. The first of `key_variables` is the usual one."""

    name: str
    kind: str
    title: str
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    address: str | None = None
    address_variable: str | None = None
    package: str = ""
    example: str = ""

    @property
    def installed(self) -> bool:
        try:
            return find_spec("pydantic_ai") is not None and find_spec(self.package) is not None
        except ModuleNotFoundError:  # the parent package is missing
            return False

    @property
    def extra(self) -> str:
        """The optional dependency that it needs, as in `pip install 'portico[models]'`."""
        return self.kind if self.kind in ("bedrock", OFFLINE) else "models"

    def address_in(self, environ: Mapping[str, str]) -> str | None:
        named = environ.get(self.address_variable) if self.address_variable else None
        return named or self.address


def _provider(name: str, title: str, package: str, key: str, example: str) -> ModelProvider:
    return ModelProvider(
        name=name, kind=name, title=title, package=package, key_variables=(key,), example=example
    )


_BUILT_IN = (
    msgspec.structs.replace(
        _provider("anthropic", "Anthropic", "anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-5-5"),
        address_variable="ANTHROPIC_BASE_URL",
    ),
    msgspec.structs.replace(
        _provider("openai", "OpenAI, responses", "openai", "OPENAI_API_KEY", "gpt-6.1-terra"),
        address_variable="OPENAI_BASE_URL",
    ),
    msgspec.structs.replace(
        _provider("openai-chat", "OpenAI, chat completions", "openai", "OPENAI_API_KEY", "gpt-6.1-terra"),
        address_variable="OPENAI_BASE_URL",
    ),
    msgspec.structs.replace(
        _provider("google", "Google Gemini", "google.genai", "GOOGLE_API_KEY", "gemini-3.8-flash"),
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ),
    _provider("mistral", "Mistral", "mistralai", "MISTRAL_API_KEY", "mistral-large-4"),
    msgspec.structs.replace(
        _provider("groq", "Groq", "groq", "GROQ_API_KEY", "openai/gpt-oss-120b"),
        address_variable="GROQ_BASE_URL",
    ),
    _provider("openrouter", "OpenRouter", "openai", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-5.5"),
    msgspec.structs.replace(
        _provider("azure", "Azure OpenAI", "openai", "AZURE_OPENAI_API_KEY", "my-deployment"),
        address_variable="AZURE_OPENAI_ENDPOINT",
    ),
    msgspec.structs.replace(
        _provider("bedrock", "Amazon Bedrock", "boto3", "AWS_BEARER_TOKEN_BEDROCK", "amazon.nova-pro-v1:0"),
        # Without a key it uses the credentials of the AWS tools.
        needs_key=False,
    ),
    msgspec.structs.replace(
        _provider("ollama", "Ollama on this machine", "openai", "OLLAMA_API_KEY", "qwen3"),
        address="http://127.0.0.1:11434/v1",
        address_variable="OLLAMA_BASE_URL",
        needs_key=False,
    ),
    ModelProvider(
        name=OFFLINE,
        kind=OFFLINE,
        title="a model on this machine",
        package="xllamacpp",
        needs_key=False,
        example="qwen2.5-coder",
    ),
)
BUILT_IN = {provider.name: provider for provider in _BUILT_IN}


class ModelName(msgspec.Struct, frozen=True):
    """The name `provider:model` of a model."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model_name(text: str) -> ModelName:
    """Parse `provider:model`. Raises InvalidInput for anything else."""
    provider, colon, model = text.strip().partition(":")
    if not colon or not provider or not model or any(letter.isspace() for letter in text.strip()):
        raise InvalidInput(
            f'"{text}" is not a model name.',
            suggestion="Use provider:model, as in anthropic:claude-sonnet-5-5. "
            "List the providers with: portico models list",
        )
    return ModelName(provider, model)


def providers(settings: Mapping[str, ProviderSetting]) -> dict[str, ModelProvider]:
    """Return all providers by name, with the changes and additions of the settings."""
    changed = {name: _with_setting(name, setting) for name, setting in settings.items()}
    return {**BUILT_IN, **changed}


def find_provider(name: str, settings: Mapping[str, ProviderSetting]) -> ModelProvider:
    """Return a provider by name. Raises InvalidInput for an unknown one."""
    if name in settings:
        return _with_setting(name, settings[name])
    if name in BUILT_IN:
        return BUILT_IN[name]
    near = get_close_matches(name, [*BUILT_IN, *settings], n=1)
    raise InvalidInput(
        f'Unknown provider "{name}".',
        suggestion=f"Did you mean {near[0]}?" if near else "List the providers with: portico models list",
    )


def _with_setting(name: str, setting: ProviderSetting) -> ModelProvider:
    kind = setting.kind or (name if name in BUILT_IN else "openai-chat")
    if kind not in BUILT_IN:
        raise InvalidInput(
            f'Unknown kind "{kind}" of the provider {name} in the settings.',
            suggestion=f"Available: {', '.join(BUILT_IN)}.",
        )
    base = BUILT_IN[kind]
    own_keys = (setting.key_variable,) if setting.key_variable else ()
    if name == kind:
        return msgspec.structs.replace(
            base,
            address=setting.address or base.address,
            address_variable=None if setting.address else base.address_variable,
            key_variables=own_keys or base.key_variables,
        )
    if not setting.address:
        raise InvalidInput(
            f"The provider {name} in the settings has no address.",
            suggestion=f"Add one, as in: portico models use {name}:MODEL --address http://127.0.0.1:8000/v1",
        )
    # The key of one company must never go to the address of another.
    return msgspec.structs.replace(
        base,
        name=name,
        title=setting.address,
        address=setting.address,
        address_variable=None,
        key_variables=own_keys,
        needs_key=bool(own_keys),
        example="",
    )
