"""A model whose calls may be written as text: text that may be a call is held back until that is known."""

import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from portico.porter.models.model import (
    AssistantMessage,
    Model,
    ModelEvent,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ResponseFinished,
    TextChunk,
    ToolCallReady,
    ToolSpec,
)
from portico.porter.models.written_calls import read_calls

_TAG = re.compile(r"<(?:tool_call|tools|function_call)>|<function=|<invoke |<\|python_tag\|>|\[TOOL_CALLS\]")
_PARTIAL_TAG = re.compile(r"[<\[][\w|= ]*\Z")
_FENCE = re.compile(r"[ \t]*```[ \t]*([\w-]*)")
_FENCE_END = re.compile(r"^[ \t]*```[ \t]*$\n?", re.MULTILINE)
_CALL_LANGUAGES = frozenset(("", "json", "python", "py", "xml", "tool_call", "tool_code"))


class WrittenCallModel:
    """Implements `Model`: the calls that a model wrote as text become calls of its message."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    async def facts(self) -> ModelFacts:
        return await self._model.facts()

    async def close(self) -> None:
        await self._model.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Stream a response. It follows the rules of a model's stream."""
        tools = {tool.name: tool for tool in request.tools}
        # Without tools nothing can be a call, and nothing is held back.
        text, shown = "", 0
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                match event:
                    case TextChunk(text=piece):
                        text += piece
                        safe = shown_length(text, tools) if tools else len(text)
                        if safe > shown:
                            yield TextChunk(text[shown:safe])
                            shown = safe
                    case ResponseFinished(message=message) if not message.calls and tools:
                        found = read_calls(message.text, tools)
                        if not found.calls:
                            if shown < len(text):
                                yield TextChunk(text[shown:])
                            yield event
                            continue
                        calls = tuple(
                            ModelToolCall(f"call_{secrets.token_hex(8)}", call.name, call.arguments)
                            for call in found.calls
                        )
                        for call in calls:
                            yield ToolCallReady(call)
                        said = (ModelText(found.text),) if found.text else ()
                        yield ResponseFinished(
                            "tool_calls", AssistantMessage((*said, *calls), model=message.model)
                        )
                    case ResponseFinished():
                        if shown < len(text):
                            yield TextChunk(text[shown:])
                        yield event
                    case _:
                        yield event


def shown_length(text: str, tools: Mapping[str, ToolSpec]) -> int:
    """Return how much of a text is not part of a call, whatever follows."""
    place = 0
    while place < len(text):
        end = text.find("\n", place) + 1
        line = text[place : end or len(text)]
        if fence := _FENCE.match(line):
            closed = _FENCE_END.search(text, place + len(line)) if end else None
            if fence[1] not in _CALL_LANGUAGES and end:
                place = closed.end() if closed else len(text)
            elif closed is None or read_calls(text[place : closed.end()], tools).calls:
                return place
            else:
                place = closed.end()
            continue
        if line.lstrip()[:1] in ("{", "["):
            return place
        if tag := _TAG.search(line) or (None if end else _PARTIAL_TAG.search(line)):
            return place + tag.start()
        # A path that stands alone may be followed by a search/replace block.
        if not any(letter.isspace() for letter in line.rstrip("\n")) and text[place + len(line) :][:1] in (
            "",
            "<",
            "`",
        ):
            return place
        place += len(line)
    return place
