"""A model that answers as a test has written it down, in the events that every model sends."""

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from portico.porter.models.model import (
    AssistantMessage,
    FinishReason,
    ModelEvent,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelThinking,
    ModelToolCall,
    ModelUsage,
    ResponseFinished,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolCallReady,
)
from portico.porter.setup import PorterSetup

NAME = "scripted:one"
CAPABLE = ModelFacts(window=100_000)
_IDS = itertools.count(1)


class Say(msgspec.Struct, frozen=True):
    """A step of a script: words, then calls. `fails` is raised after what was said."""

    text: str = ""
    calls: tuple[ModelToolCall, ...] = ()
    thinking: str = ""
    reason: FinishReason | None = None
    usage: ModelUsage = ModelUsage(input=1000, output=100)
    fails: Exception | None = None


Step = Say | Callable[[ModelRequest], Say]


def call(tool: str, arguments: Any = None, /, **named: Any) -> ModelToolCall:
    """A call with arguments as JSON, or as the raw text that is given."""
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(named).decode()
    return ModelToolCall(f"t{next(_IDS)}", tool, written)


def calls(*wanted: ModelToolCall, text: str = "") -> Say:
    return Say(text, wanted)


class ScriptedModel:
    """Takes its steps one after the other. `hold` keeps it from going on after its first words."""

    def __init__(self, steps: Sequence[Step], facts: ModelFacts = CAPABLE) -> None:
        self._steps = list(steps)
        self._facts = facts
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()
        self.hold = asyncio.Event()
        self.hold.set()
        self.closed = 0
        self.ended = 0

    @property
    def name(self) -> str:
        return NAME

    @property
    def left(self) -> int:
        return len(self._steps)

    async def facts(self) -> ModelFacts:
        return self._facts

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        self.asked.set()
        assert self._steps, "the script is at its end"
        step = self._steps.pop(0)
        say = step if isinstance(step, Say) else step(request)
        try:
            async for event in self._events(say):
                yield event
        finally:
            self.ended += 1

    async def _events(self, say: Say) -> AsyncGenerator[ModelEvent]:
        if say.thinking:
            yield ThinkingChunk(say.thinking)
        for piece in re.findall(r"\s*\S+\s*$|\s*\S+", say.text):
            yield TextChunk(piece)
        await self.hold.wait()
        for one in say.calls:
            yield ToolCallChunk(one.id, one.name, one.arguments)
        if say.fails is not None:
            raise say.fails
        for one in say.calls:
            yield ToolCallReady(one)
        yield say.usage
        parts: list[ModelText | ModelThinking | ModelToolCall] = (
            [ModelThinking(say.thinking)] if say.thinking else []
        )
        parts += [ModelText(say.text)] if say.text else []
        parts += say.calls
        reason = say.reason or ("tool_calls" if say.calls else "stop")
        yield ResponseFinished(reason, AssistantMessage(tuple(parts), model=NAME))

    async def close(self) -> None:
        self.closed += 1

    def setup(self, **more: Any) -> Callable[[Any], PorterSetup]:
        """The setup of a person who has this model."""
        return lambda _workspace: PorterSetup(choose=lambda: NAME, open=lambda _name: self, **more)


def results_in(request: ModelRequest) -> list[str]:
    """The texts of the newest results that a model was told, in order."""
    from portico.porter.models.model import ToolMessage

    message = request.messages[-1]
    assert isinstance(message, ToolMessage)
    return ["".join(p.text for p in r.parts if isinstance(p, ModelText)) for r in message.results]
