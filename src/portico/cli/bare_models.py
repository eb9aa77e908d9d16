"""Models without an agent, for programs that run the tools themselves: which are ready, and what one answers."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from portico.cli.bare_conversations import to_call, to_conversation
from portico.domain.errors import InvalidInput
from portico.doors.connect.events import one_of
from portico.doors.connect.generated.portico.v1 import agent_pb as pb
from portico.doors.connect.surroundings import ModelInfo
from portico.porter.loop.tally import Unlimited
from portico.porter.models.port import Finished, Retrying, TextChunk, ThinkingChunk, Usage
from portico.porter.setup import KnownModel, Setup

_CUT = "The answer was cut: it reached the limit of what the model may say at once."


def ready_models(setup: Setup) -> Sequence[ModelInfo]:
    """The default first, also where it is known by its name alone. Reads files."""
    default = setup.choose()
    known = {model.name: model for model in setup.known()}
    first = [known.pop(default, KnownModel(default))] if default else []
    return [
        ModelInfo(
            name=one.name,
            about=one.about,
            is_default=one.name == default,
            window=one.window or 0,
            tools=one.tools,
            images=one.images,
        )
        for one in (*first, *known.values())
    ]


async def answer(request: pb.CompleteModelRequest, setup: Setup) -> AsyncGenerator[pb.CompleteModelResponse]:
    """Send a conversation; its pieces as they come. A request counts as a turn does, so budgets hold."""
    conversation = to_conversation(request)
    name = request.model or None
    if name is None and (name := await asyncio.to_thread(setup.choose)) is None:
        raise InvalidInput("No model has been chosen.", suggestion="Name one, or: portico models use NAME")
    purse = setup.purse(0, 0.0) if setup.purse else Unlimited()
    await asyncio.to_thread(purse.check)
    model = await asyncio.to_thread(setup.open, name)
    try:
        async with aclosing(model.stream(conversation)) as events:
            async for event in events:
                match event:
                    case TextChunk(text=text):
                        yield _update("text", text)
                    case ThinkingChunk(text=text):
                        yield _update("thinking", text)
                    case Retrying(reason=reason):
                        yield _update("notice", reason)
                    case Usage():
                        for notice in await asyncio.to_thread(purse.add, event):
                            yield _update("notice", notice)
                    case Finished(reason=reason, message=message):
                        # Calls of an attempt that broke off do not count: only now it is certain which do.
                        for call in message.calls:
                            yield _update("call", to_call(call))
                        if reason == "length":
                            yield _update("notice", _CUT)
                    case _:
                        pass
    finally:
        await model.close()


def _update(field: str, value: object) -> pb.CompleteModelResponse:
    return pb.CompleteModelResponse(update=one_of(field, value))
