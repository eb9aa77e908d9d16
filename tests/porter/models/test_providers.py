"""From a name to a model: who is meant, which key goes where, and that every provider can be spoken to."""

import os
import sys
from pathlib import Path

import pytest

from portico.config.model_settings import ModelSetting, ProviderSetting
from portico.domain.errors import AuthRequired, InvalidInput
from portico.porter.models.model import ModelRequest, ModelText, RequestLimits, ResponseFinished, UserMessage
from portico.porter.models.providers import BUILT_IN, find_provider, parse_model_name
from portico.porter.models.selection import default_model, open_model
from tests.porter.models.wires import BELOW, KINDS, scripted
from tests.support.model_endpoint import Answer, ModelEndpoint, Say

REQUEST = ModelRequest(
    system="Be brief.", messages=(UserMessage((ModelText("Hi"),)),), limits=RequestLimits(silence=20.0)
)


@pytest.mark.parametrize("text", ["", "gpt", ":gpt", "openai:", "open ai:gpt", "openai:g pt"])
def test_a_name_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_model_name(text)
    assert "provider:model" in str(error.value.suggestion)


def test_a_model_may_have_a_colon_of_its_own() -> None:
    assert parse_model_name("ollama:qwen3:8b").model == "qwen3:8b"


def test_a_provider_that_is_misspelt_gets_a_hint() -> None:
    with pytest.raises(InvalidInput) as error:
        open_model("antropic:claude", {}, {})
    assert "anthropic" in str(error.value.suggestion)


def test_a_missing_key_is_named_before_anything_is_sent(own_home: Path) -> None:
    with pytest.raises(AuthRequired) as error:
        open_model("anthropic:claude", {}, dict(os.environ, ANTHROPIC_API_KEY=""))
    assert "ANTHROPIC_API_KEY" in str(error.value.suggestion)
    assert "portico auth login anthropic" in str(error.value.suggestion)


def test_the_environment_chooses_before_the_settings(own_home: Path) -> None:
    assert default_model("openai:a", {"PORTICO_MODEL": "openai:b"}) == "openai:b"
    assert default_model("openai:a", {}) == "openai:a"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_key_of_a_company_never_goes_to_an_address_of_ones_own(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    companies = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY")
    for variable in (*companies, "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(variable, "a-companys-key")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    async with ModelEndpoint(Answer(Say("Hi"))) as endpoint:
        address = endpoint.address + BELOW[kind]
        settings = {"mine": ProviderSetting(kind=kind, address=address)}
        model = open_model("mine:some", settings, dict(os.environ))
        _ = [event async for event in model.stream(REQUEST)]
        await model.close()
        assert "a-companys-key" not in str(endpoint.requests[0].headers)


async def test_a_key_of_ones_own_variable_goes_to_the_address_of_ones_own() -> None:
    async with ModelEndpoint(Answer(Say("Hi"))) as endpoint:
        settings = {"mine": ProviderSetting(address=f"{endpoint.address}/v1", key_variable="MY_KEY")}
        model = open_model("mine:some", settings, {**os.environ, "MY_KEY": "my-own"})
        events = [event async for event in model.stream(REQUEST)]
        await model.close()
        assert endpoint.requests[0].key == "my-own"
        assert endpoint.requests[0].path == "/v1/chat/completions"
    assert isinstance(events[-1], ResponseFinished)


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("openai-chat", "/v1"),
        ("openai", "/v1"),
        ("anthropic", ""),
        ("google", ""),
        ("mistral", ""),
        ("groq", ""),
        ("openrouter", "/v1"),
        ("azure", "/openai/v1"),
        ("ollama", "/v1"),
    ],
)
async def test_each_provider_that_is_built_in_streams_an_answer(name: str, below: str) -> None:
    async with ModelEndpoint(Answer(Say("Hello there, friend."))) as endpoint:
        settings = {name: ProviderSetting(address=endpoint.address + below, key_variable="ITS_KEY")}
        model = open_model(f"{name}:some/model", settings, {**os.environ, "ITS_KEY": "its-key"})
        events = [event async for event in model.stream(REQUEST)]
        await model.close()
        (received,) = endpoint.requests
    assert isinstance(events[-1], ResponseFinished)
    assert events[-1].message.text == "Hello there, friend."
    assert received.key == "its-key"


async def test_a_name_that_the_provider_cannot_make_sense_of_is_the_persons_to_correct() -> None:
    model = open_model("openrouter:some", {}, {**os.environ, "OPENROUTER_API_KEY": "k"})
    with pytest.raises(InvalidInput, match="upstream provider"):
        await model.facts()


async def test_the_published_window_of_a_model_of_google_is_known() -> None:
    model = open_model("google:gemini-3.8-flash", {}, {**os.environ, "GEMINI_API_KEY": "its-key"})
    facts = await model.facts()
    await model.close()
    assert facts.window == 1_000_000


async def test_a_provider_whose_package_is_not_installed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("pydantic_ai.models.bedrock", "pydantic_ai.providers.bedrock"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    model = open_model("bedrock:amazon.nova-pro-v1:0", {}, dict(os.environ))
    with pytest.raises(InvalidInput, match="boto3") as error:
        await model.facts()
    assert "portico[bedrock]" in str(error.value.suggestion)


async def test_bedrock_without_any_credentials_names_each_way_to_have_some(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_traces_of_aws(monkeypatch, own_home)
    model = open_model("bedrock:amazon.nova-pro-v1:0", {}, {**os.environ, "AWS_REGION": "eu-central-1"})
    with pytest.raises(AuthRequired) as error:
        await model.facts()
    assert "AWS_BEARER_TOKEN_BEDROCK" in str(error.value.suggestion)
    assert "aws configure" in str(error.value.suggestion)


async def test_bedrock_without_a_region_says_how_to_name_one(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_traces_of_aws(monkeypatch, own_home)
    model = open_model(
        "bedrock:amazon.nova-pro-v1:0", {}, {**os.environ, "AWS_BEARER_TOKEN_BEDROCK": "its-key"}
    )
    with pytest.raises(InvalidInput, match="region") as error:
        await model.facts()
    assert "AWS_REGION" in str(error.value.suggestion)


def _no_traces_of_aws(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_a_provider_in_the_settings_needs_an_address_and_a_kind_that_exists() -> None:
    with pytest.raises(InvalidInput, match="no address"):
        find_provider("mine", {"mine": ProviderSetting()})
    with pytest.raises(InvalidInput, match="kind"):
        find_provider("mine", {"mine": ProviderSetting(kind="telepathy", address="http://x")})


async def test_what_the_person_knows_of_a_model_wins_over_the_published_list() -> None:
    async with scripted("openai-chat", setting=ModelSetting(window=1234, tools=False, images=False)) as it:
        facts = await it.model.facts()
    assert (facts.window, facts.tools, facts.images) == (1234, False, False)


async def test_published_windows_and_prices_are_known() -> None:
    async with ModelEndpoint(Answer(Say("Hi"))) as endpoint:
        settings = {"anthropic": ProviderSetting(address=endpoint.address, key_variable="K")}
        model = open_model("anthropic:claude-sonnet-5-5", settings, {**os.environ, "K": "k"})
        facts = await model.facts()
        events = [event async for event in model.stream(REQUEST)]
        await model.close()
    assert facts.window == 1_000_000
    costs = [event.cost_usd for event in events if hasattr(event, "cost_usd")]
    assert costs == [pytest.approx((100 * 2 + 20 * 10) / 1e6)]


async def test_prompts_are_cached_where_the_provider_has_that() -> None:
    async with scripted("anthropic", Answer(Say("Hi")), model="claude-sonnet-5-5") as it:
        await it.ask()
        assert "cache_control" in str(it.endpoint.requests[0].body)


def test_every_example_names_a_provider_that_is_there() -> None:
    for provider in BUILT_IN.values():
        assert parse_model_name(f"{provider.name}:{provider.example}").provider == provider.name
