"""Completions by a model without an agent, within the budgets, and the models that are ready for them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.app.completion_messages import to_model_request, to_tool_call
from portico.domain.catalog import ModelEntry
from portico.domain.errors import InvalidInput
from portico.porter.models.model import (
    ModelUsage,
    RequestRetry,
    ResponseFinished,
    TextChunk,
    ThinkingChunk,
)
from portico.porter.models.spending_limit import NoSpendingLimit
from portico.porter.setup import PorterSetup

_CUT = "The answer was cut off: it reached the model's output limit."


def ready_models(setup: PorterSetup) -> tuple[Sequence[ModelEntry], str]:
    """The models whose provider is ready, the default first, and the default's name. Reads files."""
    default = setup.choose()
    known = {model.name: model for model in setup.known()}
    first = [known.pop(default, ModelEntry(default))] if default else []
    return (*first, *known.values()), default or ""


async def stream_completion(
    request: pb.CompleteModelRequest, setup: PorterSetup
) -> AsyncGenerator[pb.CompleteModelResponse]:
    """Send a conversation; its pieces as they come. A request counts as a turn does, so budgets hold."""
    conversation = to_model_request(request)
    name = request.model or None
    if name is None and (name := await asyncio.to_thread(setup.choose)) is None:
        raise InvalidInput("No model has been chosen.", suggestion="Name one, or: portico models use NAME")
    spending_limit = setup.spending_limit(0, 0.0) if setup.spending_limit else NoSpendingLimit()
    await asyncio.to_thread(spending_limit.check)
    model = await asyncio.to_thread(setup.open, name)
    try:
        async with aclosing(model.stream(conversation)) as events:
            async for event in events:
                match event:
                    case TextChunk(text=text):
                        yield _update("text", text)
                    case ThinkingChunk(text=text):
                        yield _update("thinking", text)
                    case RequestRetry(reason=reason):
                        yield _update("notice", reason)
                    case ModelUsage():
                        for notice in await asyncio.to_thread(spending_limit.add, event):
                            yield _update("notice", notice)
                    case ResponseFinished(reason=reason, message=message):
                        # Calls of an attempt that broke off do not count: only now it is certain which do.
                        for call in message.calls:
                            yield _update("call", to_tool_call(call))
                        if reason == "length":
                            yield _update("notice", _CUT)
                    case _:
                        pass
    finally:
        await model.close()


def _update(field: str, value: object) -> pb.CompleteModelResponse:
    return pb.CompleteModelResponse(update=one_of(field, value))
