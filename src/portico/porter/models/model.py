"""The model interface: requests, messages, streamed events and their rules. It imports no provider.

    model = open_model("anthropic:claude-sonnet-5-5", settings.models, environ)   # models/opening.py
    facts = await model.facts()
    async for event in model.stream(ModelRequest(system=…, messages=…, tools=…)):
        match event: …
    await model.close()

`chosen_model(settings.model, environ)` in the same module is the name to open, or None without any.

The rules of a stream:

1. Pieces come as they arrive. `ResponseFinished` is the last event and holds the whole `AssistantMessage`,
   provider data included: append that to the history, not what the pieces add up to.
2. `ToolCallReady` comes once for each call, when its arguments are complete. They are raw text and may not
   be JSON. A model may ask for several calls in one message.
3. `ModelUsage` comes before `ResponseFinished`, and also for an attempt that broke off, if the provider counted it.
4. A request that fails before a word of text came is sent again with a growing pause, and each time
   `RequestRetry` says so: thoughts and pieces of calls before it are void. Later failures are raised at
   once, and whoever keeps the history decides what becomes of the text.
5. Failures are `PorticoError`s: AuthRequired, ContextLimit, ModelBusy (rate, overload), ModelRefused,
   ModelTimedOut (silent, unreachable, or a stream that broke off), ModelReported (anything else that a
   provider says), InvalidInput (no such model). Each has a suggestion for the person.
6. Closing the iterator, or cancelling the task, ends the request at once.

A history is: user, assistant, tool results, assistant, user, … Every call of an assistant message needs
its result in the message after it, also one that was cancelled or unknown: providers insist on that.
"""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

import msgspec


class ModelText(msgspec.Struct, frozen=True, tag="text"):
    text: str
    opaque: str = ""


class ModelImage(msgspec.Struct, frozen=True, tag="image"):
    data: bytes
    media_type: str


class ModelThinking(msgspec.Struct, frozen=True, tag="thinking"):
    """What a model thought. `opaque` is the provider's own, as JSON, and has to be sent back unchanged."""

    text: str
    opaque: str = ""


class ModelToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """`arguments` is what the model wrote: meant to be a JSON object, and not always one."""

    id: str
    name: str
    arguments: str
    opaque: str = ""


class ModelToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    call_id: str
    name: str
    parts: tuple[ModelText | ModelImage, ...]
    failed: bool = False


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    parts: tuple[ModelText | ModelImage, ...]


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    """`model` is who said it: opaque data of one provider is never shown to another."""

    parts: tuple[ModelText | ModelThinking | ModelToolCall, ...]
    model: str = ""
    opaque: str = ""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, ModelText))

    @property
    def calls(self) -> tuple[ModelToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ModelToolCall))


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """The results of every call of the assistant message before it."""

    results: tuple[ModelToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model sees it; `schema` is the JSON Schema of its arguments, as JSON."""

    name: str
    description: str
    schema: bytes


ThinkingEffort = Literal["off", "low", "medium", "high"]


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`silence` is how many seconds may pass without a byte. None leaves it to the model."""

    output_tokens: int | None = None
    temperature: float | None = None
    thinking: ThinkingEffort | None = None
    silence: float = 120.0


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    limits: RequestLimits = RequestLimits()


class TextChunk(msgspec.Struct, frozen=True, tag="text_chunk"):
    text: str


class ThinkingChunk(msgspec.Struct, frozen=True, tag="thinking_chunk"):
    text: str


class ToolCallChunk(msgspec.Struct, frozen=True, tag="tool_call_chunk"):
    """A piece of a call's arguments. The name is whole from the first piece on."""

    id: str
    name: str
    arguments: str


class ToolCallReady(msgspec.Struct, frozen=True, tag="tool_call_ready"):
    call: ModelToolCall


class RequestRetry(msgspec.Struct, frozen=True, tag="retrying"):
    """The request failed and is sent again after `pause` seconds. `reason` is a sentence for the person."""

    attempt: int
    attempts: int
    pause: float
    reason: str


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, tag="usage"):
    """What one request took. `input` counts everything sent, cached parts included. No cost: no price known."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float | None = None


FinishReason = Literal["stop", "tool_calls", "length"]


class ResponseFinished(msgspec.Struct, frozen=True, tag="finished"):
    """`length` means that the answer was cut at its limit of output tokens: its last call may be broken."""

    reason: FinishReason
    message: AssistantMessage


ModelEvent = (
    TextChunk | ThinkingChunk | ToolCallChunk | ToolCallReady | RequestRetry | ModelUsage | ResponseFinished
)


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked of a model. `window` is in tokens, None when nobody knows.

    A `tiny` model answers in a few sentences and no more: no tools, short instructions.
    """

    window: int | None = None
    tools: bool = True
    images: bool = True
    tiny: bool = False


class Model(Protocol):
    @property
    def name(self) -> str:
        """As the person writes it: `provider:model`."""
        ...

    async def facts(self) -> ModelFacts:
        """What can be asked of it. Calling this early, in the background, makes the first request quick."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send a request; see the rules above."""
        ...

    async def close(self) -> None:
        """Let go of connections, and of the offline model if this was its last user.

        A session keeps its model open from turn to turn: starting one anew takes a while.
        """
        ...
