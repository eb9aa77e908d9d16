"""A model behind a provider, with retries for requests that fail before any text arrived."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

import msgspec

from portico.config.model_settings import ModelSetting
from portico.porter.models.clients import RequestTarget, build_client
from portico.porter.models.model import ModelEvent, ModelFacts, ModelRequest, RequestRetry, TextChunk

if TYPE_CHECKING:
    from pydantic_ai.models import Model as WireModel


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses double from `first` to `longest`. If a provider requests more than `patience`, there is no retry."""

    attempts: int = 5
    first: float = 1.0
    longest: float = 30.0
    patience: float = 60.0

    def pause(self, attempt: int, asked: float | None) -> float | None:
        """Return the seconds to wait after a failed attempt, counted from 1; None to give up."""
        if attempt >= self.attempts or (asked is not None and asked > self.patience):
            return None
        if asked is not None:
            return asked
        # Random jitter, so that clients that failed together do not retry together.
        full = min(self.first * 2.0 ** (attempt - 1), self.longest)
        return full * random.uniform(0.5, 1.0)


Sleep = Callable[[float], Awaitable[None]]

_POLICY = RetryPolicy()


class RemoteModel:
    """Implements `Model`. `locate` is called before each attempt: keys change and endpoints move."""

    def __init__(
        self,
        name: str,
        locate: Callable[[], Awaitable[RequestTarget]],
        setting: ModelSetting,
        *,
        policy: RetryPolicy = _POLICY,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._name = name
        self._locate = locate
        self._setting = setting
        self._policy = policy
        self._sleep = sleep
        self._built: tuple[RequestTarget, WireModel] | None = None
        self._open = AsyncExitStack()

    @property
    def name(self) -> str:
        return self._name

    async def facts(self) -> ModelFacts:
        profile = (await self._model(await self._locate())).profile
        setting = self._setting
        return ModelFacts(
            window=setting.window or profile.get("context_window"),
            tools=profile.get("supports_tools", True) if setting.tools is None else setting.tools,
            images=profile.get("supports_image_input", True) if setting.images is None else setting.images,
            small=bool(setting.small),
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        shown = False
        number = 0
        while True:
            number += 1
            target = await self._locate()
            model = await self._model(target)
            # Fast, because `build_client` has imported both modules already.
            from portico.porter.models.failures import explain_failure
            from portico.porter.models.response_stream import stream_response

            try:
                async with aclosing(
                    stream_response(model, self._name, request, self._setting.price)
                ) as events:
                    async for event in events:
                        shown = shown or isinstance(event, TextChunk)
                        yield event
                return
            except Exception as error:
                failure = explain_failure(error, target.provider, target.model, hidden=target.key)
                pause = self._policy.pause(number, failure.pause) if failure.again and not shown else None
                if pause is None:
                    raise failure.error from error
                reason = failure.error.message
            yield RequestRetry(number + 1, self._policy.attempts, pause, reason)
            await self._sleep(pause)

    async def close(self) -> None:
        self._built = None
        await self._open.aclose()

    async def _model(self, target: RequestTarget) -> "WireModel":
        """Return the client for a target, building it if the target changed."""
        if self._built is None or self._built[0] != target:
            await self.close()
            client = await asyncio.to_thread(build_client, target)
            if client.connections is not None:
                self._open.push_async_callback(client.connections.aclose)
            await self._open.enter_async_context(client.model)
            self._built = (target, client.model)
        return self._built[1]
