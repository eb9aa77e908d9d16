"""A scripted endpoint with a model of Porter's in front of it, in each language."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico.config.model_settings import ModelSetting, ProviderSetting
from portico.porter.models.clients import RequestTarget
from portico.porter.models.model import (
    Message,
    Model,
    ModelEvent,
    ModelRequest,
    ModelText,
    RequestLimits,
    ToolSpec,
    UserMessage,
)
from portico.porter.models.providers import find_provider
from portico.porter.models.remote_model import RemoteModel, RetryPolicy
from tests.support.model_endpoint import ModelEndpoint, Reply

KINDS = ("openai-chat", "openai", "anthropic", "google", "bedrock")

BELOW = {"openai-chat": "/v1", "openai": "/v1", "anthropic": "", "google": "", "bedrock": ""}
"""Path of the address of each kind."""
HELLO: Message = UserMessage((ModelText("Hello"),))
READ = ToolSpec(
    name="read",
    description="Read a file.",
    schema=b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}',
)


class Pauses:
    """Sleeping that takes no time, and remembers how long it would have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


class Scripted:
    def __init__(self, endpoint: ModelEndpoint, model: Model, pauses: Pauses) -> None:
        self.endpoint = endpoint
        self.model = model
        self.pauses = pauses

    async def ask(self, *messages: Message, tools: tuple[ToolSpec, ...] = (READ,)) -> list[ModelEvent]:
        request = ModelRequest(
            system="Be brief.",
            messages=messages or (HELLO,),
            tools=tools,
            limits=RequestLimits(silence=20.0, output_tokens=500),
        )
        return [event async for event in self.model.stream(request)]


@asynccontextmanager
async def scripted(
    kind: str,
    *script: Reply,
    model: str = "scripted",
    setting: ModelSetting | None = None,
    policy: RetryPolicy | None = None,
) -> AsyncIterator[Scripted]:
    async with ModelEndpoint(*script) as endpoint:
        address = endpoint.address + BELOW[kind]
        provider = find_provider(
            "mine", {"mine": ProviderSetting(kind=kind, address=address, key_variable="K")}
        )

        async def locate() -> RequestTarget:
            region = {"AWS_REGION": "eu-central-1"}
            return RequestTarget(
                provider=provider, model=model, address=address, key="the-key", environ=region
            )

        pauses = Pauses()
        remote = RemoteModel(
            f"mine:{model}", locate, setting or ModelSetting(), policy=policy or RetryPolicy(), sleep=pauses
        )
        try:
            yield Scripted(endpoint, remote, pauses)
        finally:
            await remote.close()
