"""Converts Porter's messages to pydantic-ai's and back.

Provider data of a part (signatures, ids, encrypted reasoning) is kept as opaque JSON, so that a stored session can
be continued with the same provider.
"""

from dataclasses import fields
from typing import Any, assert_never

import msgspec
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as WireRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from portico.domain import codecs
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelImage,
    ModelRequest,
    ModelText,
    ModelThinking,
    ModelToolCall,
    ModelToolResult,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_PART_EXTRAS = ("id", "signature", "provider_name", "provider_details")
_RESPONSE_EXTRAS = (
    "model_name",
    "provider_name",
    "provider_url",
    "canonical_system",
    "provider_response_id",
    "provider_details",
)
_NO_TEXT = "(no text)"


def to_wire(request: ModelRequest) -> list[ModelMessage]:
    """Convert the history. The instructions go into the last request, where pydantic-ai reads them."""
    messages = [_message(message) for message in request.messages]
    for message in messages:
        if isinstance(message, WireRequest):
            message.instructions = request.system or None
    return messages


def request_parameters(tools: tuple[ToolSpec, ...]) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=codecs.decode_json(tool.schema),
                # Strict schemas require every property, which schemas of MCP tools do not do.
                strict=False,
            )
            for tool in tools
        ]
    )


def from_wire(response: ModelResponse, model: str) -> AssistantMessage:
    """Convert a complete response. Parts of unknown kinds are left out."""
    parts: list[ModelText | ModelThinking | ModelToolCall] = []
    for part in response.parts:
        match part:
            case TextPart():
                parts.append(ModelText(part.content, _opaque(part, _PART_EXTRAS)))
            case ThinkingPart():
                parts.append(ModelThinking(part.content, _opaque(part, _PART_EXTRAS)))
            case ToolCallPart():
                parts.append(tool_call(part))
            case _:
                pass
    return AssistantMessage(tuple(parts), model=model, opaque=_opaque(response, _RESPONSE_EXTRAS))


def tool_call(part: ToolCallPart) -> ModelToolCall:
    return ModelToolCall(
        part.tool_call_id, part.tool_name, raw_arguments(part.args), _opaque(part, _PART_EXTRAS)
    )


def raw_arguments(arguments: str | dict[str, Any] | None) -> str:
    """Return arguments as text: some providers send text, some objects, and some nothing."""
    if isinstance(arguments, dict):
        return msgspec.json.encode(arguments).decode()
    return arguments or "{}"


def _message(message: Message) -> ModelMessage:
    match message:
        case UserMessage(parts=parts):
            return WireRequest(parts=[UserPromptPart(content=_content(parts))])
        case ToolMessage(results=results):
            return WireRequest(parts=[_result(result) for result in results])
        case AssistantMessage(parts=parts, opaque=opaque):
            return ModelResponse(parts=[_part(part) for part in parts], **_extras(opaque))
        case _:
            assert_never(message)


def _part(part: ModelText | ModelThinking | ModelToolCall) -> ModelResponsePart:
    match part:
        case ModelText(text=text, opaque=opaque):
            return TextPart(text, **_without(_extras(opaque), "signature"))
        case ModelThinking(text=text, opaque=opaque):
            return ThinkingPart(text, **_extras(opaque))
        case ModelToolCall(id=call_id, name=name, arguments=arguments, opaque=opaque):
            return ToolCallPart(name, _sendable(arguments), call_id, **_without(_extras(opaque), "signature"))
        case _:
            assert_never(part)


def _sendable(arguments: str) -> str | dict[str, Any]:
    """Return arguments as an object: providers reject anything else in a history."""
    try:
        decoded = codecs.decode_json(arguments)
    except msgspec.DecodeError:
        decoded = None
    return arguments if isinstance(decoded, dict) else {"malformed_arguments": arguments}


def _result(result: ModelToolResult) -> ToolReturnPart:
    content = [_content_of(part) for part in result.parts]
    only_text = [part for part in content if isinstance(part, str)]
    return ToolReturnPart(
        tool_name=result.name,
        content="\n".join(only_text) or _NO_TEXT if len(only_text) == len(content) else content,
        tool_call_id=result.call_id,
        outcome="failed" if result.failed else "success",
    )


def _content(parts: tuple[ModelText | ModelImage, ...]) -> str | list[UserContent]:
    content = [_content_of(part) for part in parts]
    return content[0] if len(content) == 1 and isinstance(content[0], str) else [*content]


def _content_of(part: ModelText | ModelImage) -> str | BinaryContent:
    # Providers reject empty text.
    return (
        (part.text or _NO_TEXT)
        if isinstance(part, ModelText)
        else BinaryContent(part.data, media_type=part.media_type)
    )


def _opaque(value: object, names: tuple[str, ...]) -> str:
    known = {field.name for field in fields(value)}  # type: ignore[arg-type]
    found = {
        name: getattr(value, name) for name in names if name in known and getattr(value, name) is not None
    }
    return msgspec.json.encode(found, enc_hook=str).decode() if found else ""


def _extras(opaque: str) -> dict[str, Any]:
    decoded = codecs.decode_json(opaque) if opaque else {}
    return {name: decoded[name] for name in (*_PART_EXTRAS, *_RESPONSE_EXTRAS) if name in decoded}


def _without(extras: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in extras.items() if key != name}
