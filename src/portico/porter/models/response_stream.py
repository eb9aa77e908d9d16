"""Sends one request to a provider and yields its response as events, with its cost."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Container
from contextlib import AsyncExitStack

import msgspec
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import ContentFilterError
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from portico.config.model_settings import PriceSetting
from portico.domain import codecs
from portico.porter.models.failures import ResponseFailed
from portico.porter.models.message_conversion import from_wire, raw_arguments, request_parameters, to_wire
from portico.porter.models.model import (
    AssistantMessage,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    ResponseFinished,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolCallReady,
)

_MILLION = 1_000_000


def own_cost(usage: ModelUsage, price: PriceSetting) -> float:
    plain = usage.input - usage.cache_read - usage.cache_write
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    dollars = (
        plain * price.input
        + usage.cache_read * cache_read
        + usage.cache_write * cache_write
        + usage.output * price.output
    )
    return dollars / _MILLION


def listed_cost(response: "ModelResponse") -> float | None:
    """Return the cost; None if the price is unknown or the provider did not count tokens."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


async def stream_response(
    model: WireModel, name: str, request: ModelRequest, price: PriceSetting | None
) -> AsyncGenerator[ModelEvent]:
    """Send a request once. Usage is yielded even if the response is interrupted."""
    async with AsyncExitStack() as stack:
        silence = request.limits.silence
        async with asyncio.timeout(silence):
            stream = await stack.enter_async_context(
                model_request_stream(
                    model,
                    to_wire(request),
                    model_settings=_settings(request, model.unsupported_settings),
                    model_request_parameters=request_parameters(request.tools),
                    instrument=False,
                )
            )
        try:
            async for event in _pieces(stream, silence):
                yield event
        except Exception:
            if stream.usage.input_tokens or stream.usage.output_tokens:
                yield _usage(stream.get(), price)
            raise
        response = stream.get()
    answer = from_wire(response, name)
    yield _usage(response, price)
    reason = _reason(response, answer)
    for call in answer.calls:
        yield ToolCallReady(call)
    yield ResponseFinished(reason, answer)


async def _pieces(stream: StreamedResponse, silence: float) -> AsyncIterator[ModelEvent]:
    calls: dict[int, tuple[str, str]] = {}
    events = aiter(stream)
    while True:
        try:
            async with asyncio.timeout(silence):
                event = await anext(events)
        except StopAsyncIteration:
            return
        if piece := _piece(event, calls):
            yield piece


def _piece(event: ModelResponseStreamEvent, calls: dict[int, tuple[str, str]]) -> ModelEvent | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextChunk(text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextChunk(text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ThinkingChunk(text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought)) if thought:
            return ThinkingChunk(thought)
        case PartStartEvent(index=index, part=ToolCallPart() as part):
            calls[index] = (part.tool_call_id, part.tool_name)
            return ToolCallChunk(
                part.tool_call_id, part.tool_name, raw_arguments(part.args) if part.args else ""
            )
        case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=arguments)) if arguments:
            return ToolCallChunk(*calls[index], raw_arguments(arguments))
        case _:
            return None


def _settings(request: ModelRequest, unsupported: Container[str]) -> ModelSettings:
    limits = request.limits
    # Use caching wherever the provider supports it.
    settings = ModelSettings(cache=True)
    # RemoteModel retries, so that the user sees it; the clients must not.
    if "max_retries" not in unsupported:
        settings["max_retries"] = 0
    if "timeout" not in unsupported:
        settings["timeout"] = limits.silence
    if limits.output_tokens is not None:
        settings["max_tokens"] = limits.output_tokens
    if limits.temperature is not None:
        settings["temperature"] = limits.temperature
    if limits.thinking is not None:
        settings["thinking"] = False if limits.thinking == "off" else limits.thinking
    if request.response_schema is not None:
        schema = {"name": "response", "schema": codecs.decode_json(request.response_schema)}
        settings["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": schema}}
    return settings


def _usage(response: ModelResponse, price: PriceSetting | None) -> ModelUsage:
    counted: RequestUsage = response.usage
    usage = ModelUsage(
        input=counted.input_tokens,
        output=counted.output_tokens,
        cache_read=counted.cache_read_tokens,
        cache_write=counted.cache_write_tokens,
    )
    cost = own_cost(usage, price) if price else listed_cost(response)
    return msgspec.structs.replace(usage, cost_usd=cost)


def _reason(response: ModelResponse, answer: AssistantMessage) -> FinishReason:
    """Return why a response ended. Raises ContentFilterError, ResponseFailed, or OSError if it is incomplete."""
    if not answer.parts and not response.usage.total_tokens and response.finish_reason != "content_filter":
        raise ConnectionResetError("the response was empty")
    match response.finish_reason:
        case "content_filter":
            details = response.provider_details or {}
            raise ContentFilterError(str(details.get("refusal") or "it was filtered"))
        case "length":
            return "length"
        case "error":
            named = (response.provider_details or {}).get("finish_reason")
            raise ResponseFailed(str(named or "it does not say why"))
        case "stop" | "tool_call":
            return "tool_calls" if answer.calls else "stop"
        case None:
            # Some servers send no finish reason. The response is accepted if it can be complete.
            whole = all(_is_object(call.arguments) for call in answer.calls)
            if response.state != "complete" or not whole:
                raise ConnectionResetError("the stream ended without a finish reason")
            return "tool_calls" if answer.calls else "stop"


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(codecs.decode_json(arguments), dict)
    except msgspec.DecodeError:
        return False
