"""Codec between the messages of a CompleteModel call and model requests; every tool call gets a result."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from portico.api.v1 import agent_pb as pb
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelImage,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_NO_ARGUMENTS = '{"type": "object", "properties": {}}'
_NO_RESULT = "The call was not carried out."


def to_model_request(request: pb.CompleteModelRequest) -> ModelRequest:
    """InvalidInput when there is nothing to answer, or a tool's schema is none."""
    messages = tuple(_messages(request.messages))
    if not messages:
        raise InvalidInput("The conversation is empty.", suggestion="Send at least one message of the user.")
    return ModelRequest(
        system=request.system, messages=messages, tools=tuple(_tool(one) for one in request.tools)
    )


def to_tool_call(call: ModelToolCall) -> pb.ModelToolCall:
    return pb.ModelToolCall(call_id=call.id, name=call.name, arguments_json=call.arguments)


def _messages(messages: Sequence[pb.ModelMessage]) -> Iterator[Message]:
    """Results come in as many messages as a caller likes, and leave in one, right behind their calls."""
    open_calls: tuple[ModelToolCall, ...] = ()
    for role, group in groupby(messages, lambda message: message.role):
        parts: list[Any] = [one.part for message in group for one in message.parts if one.part is not None]
        if role is pb.ModelRole.ASSISTANT:
            yield from _results(open_calls, {})
            said = AssistantMessage(tuple(_said(parts)))
            open_calls = said.calls
            if said.parts:
                yield said
            continue
        results = {one.value.call_id: one.value for one in parts if one.field == "result"}
        yield from _results(open_calls, results)
        open_calls = ()
        if asked := tuple(_asked(parts)):
            yield UserMessage(asked)
    yield from _results(open_calls, {})


def _results(
    calls: tuple[ModelToolCall, ...], results: dict[str, pb.ModelToolResult]
) -> Iterator[ToolMessage]:
    if calls:
        yield ToolMessage(tuple(_result(call, results.get(call.id)) for call in calls))


def _result(call: ModelToolCall, result: pb.ModelToolResult | None) -> ModelToolResult:
    if result is None:
        return ModelToolResult(call.id, call.name, (ModelText(_NO_RESULT),), failed=True)
    images = [_image(one) for one in result.images]
    return ModelToolResult(call.id, call.name, (ModelText(result.text), *images))


def _said(parts: list[Any]) -> Iterator[ModelText | ModelToolCall]:
    for part in parts:
        if part.field == "text":
            yield ModelText(part.value)
        elif part.field == "call":
            yield ModelToolCall(part.value.call_id, part.value.name, part.value.arguments_json or "{}")


def _asked(parts: list[Any]) -> Iterator[ModelText | ModelImage]:
    for part in parts:
        if part.field == "text":
            yield ModelText(part.value)
        elif part.field == "image":
            yield _image(part.value)


def _image(image: pb.ModelImage) -> ModelImage:
    return ModelImage(image.data, image.mime_type)


def _tool(tool: pb.ModelTool) -> ToolSpec:
    schema = tool.schema_json or _NO_ARGUMENTS
    try:
        codecs.decode_json(schema, dict[str, Any])
    except msgspec.DecodeError as error:
        raise InvalidInput(
            f"The schema of the tool {tool.name} is not a JSON object: {error}",
            suggestion="Give the JSON Schema of its arguments, or nothing.",
        ) from error
    return ToolSpec(name=tool.name, description=tool.description, schema=schema.encode())
