"""Tool calls of a small model, kept well formed by a schema: each response is one call, or an answer.

Small models do not keep to the form of calls that their template asks for, and the server does not enforce it. It
does enforce a response schema. So tools are described in the system prompt in few words, calls and results are
plain messages, and every token of a response fits the schema.
"""

import json
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, assert_never

import msgspec

from portico.domain import codecs
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    Model,
    ModelEvent,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ResponseFinished,
    TextChunk,
    ToolCallReady,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

_BEST_TOOLS = ("read", "list", "grep", "edit", "write", "run")
"""Porter's tools that are kept if a client offers too many: more than a few confuse a small model."""
_MOST_TOOLS = 8
_HOW = (
    'Respond with one JSON object. To use a tool: {"tool": "NAME", "arguments": {...}}. You then get its result. '
    'When everything is done, or no tool is needed: {"answer": "TEXT"}.'
)
_KEPT_KEYS = ("type", "enum", "const", "required", "additionalProperties")
_DEEPEST = 8
_ANSWER_BEGINS = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_SENTENCE = re.compile(r"[^.]*\.")
_INCOMPLETE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")


async def stream_constrained(model: Model, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
    """Stream a response that is one call of an offered tool, or text. It follows the rules of a model's stream."""
    answer = AnswerReader()
    async with aclosing(model.stream(constrain(request))) as events:
        async for event in events:
            match event:
                case TextChunk(text=text):
                    if shown := answer.feed(text):
                        yield TextChunk(shown)
                case ResponseFinished(reason=reason, message=message):
                    call = _call(message.text)
                    if call is None:
                        text = answer.text or message.text
                        yield ResponseFinished(
                            reason, AssistantMessage((ModelText(text),), model=message.model)
                        )
                        return
                    yield ToolCallReady(call)
                    yield ResponseFinished("tool_calls", AssistantMessage((call,), model=message.model))
                case _:
                    yield event


def constrain(request: ModelRequest) -> ModelRequest:
    """Return the request without tools, and with a schema for the response instead."""
    tools = list(request.tools)
    if len(tools) > _MOST_TOOLS:
        # A client that knows nothing of small models.
        tools = [tool for tool in tools if tool.name in _BEST_TOOLS] or tools[:_MOST_TOOLS]
    described = "\n".join(map(_describe, tools))
    return msgspec.structs.replace(
        request,
        system=f"{request.system}\n\n# Tools\n{described}\n\n{_HOW}",
        messages=tuple(map(_plain_message, request.messages)),
        tools=(),
        response_schema=msgspec.json.encode(_response_schema(tools)),
    )


class AnswerReader:
    """Reads the text of `{"answer": "…"}` while it arrives in chunks."""

    def __init__(self) -> None:
        self._raw = ""
        self.text = ""

    def feed(self, chunk: str) -> str:
        """Return the text that became readable with this chunk."""
        self._raw += chunk
        begin = _ANSWER_BEGINS.match(self._raw)
        if begin is None:
            return ""
        text = _readable(self._raw[begin.end() :])
        fresh, self.text = text[len(self.text) :], text
        return fresh


def _readable(encoded: str) -> str:
    """Decode the beginning of a JSON string, up to its end or to an incomplete escape."""
    end = re.search(r'(?<!\\)(?:\\\\)*"', encoded)
    body = encoded[: end.end() - 1] if end else encoded
    if cut := _INCOMPLETE_ESCAPE.search(body):
        body = body[: cut.start(1)]
    # The second half of a pair of surrogates may come later.
    body = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z", "", body)
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return ""


def _call(text: str) -> ModelToolCall | None:
    try:
        found = codecs.decode_json(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(name := found.get("tool"), str):
        return None
    arguments = msgspec.json.encode(found.get("arguments", {})).decode()
    return ModelToolCall(id=f"call_{secrets.token_hex(8)}", name=name, arguments=arguments)


def _describe(tool: ToolSpec) -> str:
    schema = codecs.decode_json(tool.schema)
    required = schema.get("required", ())
    names = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
    sentence = _SENTENCE.match(tool.description)
    return f"- {tool.name}({', '.join(names)}): {sentence[0] if sentence else tool.description}"


def _plain_message(message: Message) -> Message:
    match message:
        case UserMessage():
            return message
        case AssistantMessage(calls=(call, *_)):
            arguments = _arguments(call)
            return _assistant({"tool": call.name, "arguments": arguments}, message)
        case AssistantMessage():
            return _assistant({"answer": message.text}, message)
        case ToolMessage(results=results):
            shown = [
                f"Result of {result.name}{' (it failed)' if result.failed else ''}:\n"
                + "".join(part.text for part in result.parts if isinstance(part, ModelText))
                for result in results
            ]
            return UserMessage((ModelText("\n\n".join(shown)),))
        case _:
            assert_never(message)


def _arguments(call: ModelToolCall) -> object:
    try:
        return codecs.decode_json(call.arguments)
    except msgspec.DecodeError:
        return {}


def _assistant(said: Mapping[str, object], message: AssistantMessage) -> AssistantMessage:
    return AssistantMessage((ModelText(msgspec.json.encode(said).decode()),), model=message.model)


def _response_schema(tools: list[ToolSpec]) -> dict[str, object]:
    choices = [
        _object({"tool": {"const": tool.name}, "arguments": _arguments_schema(tool)}) for tool in tools
    ]
    return {"anyOf": [*choices, _object({"answer": {"type": "string"}})]}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _arguments_schema(tool: ToolSpec) -> object:
    schema = codecs.decode_json(tool.schema)
    return _plain_schema(schema, schema.get("$defs", {}), 0)


def _plain_schema(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, object]:
    """Reduce a schema to what the server turns into a grammar, with its references resolved."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    if reference := schema.get("$ref"):
        return _plain_schema(definitions.get(str(reference).rpartition("/")[2]), definitions, depth + 1)
    found = {key: schema[key] for key in _KEPT_KEYS if key in schema}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {
            name: _plain_schema(one, definitions, depth + 1) for name, one in schema["properties"].items()
        }
    if "items" in schema:
        found["items"] = _plain_schema(schema["items"], definitions, depth + 1)
    if isinstance(schema.get("anyOf"), list):
        found["anyOf"] = [_plain_schema(one, definitions, depth + 1) for one in schema["anyOf"]]
    return found
