"""The model interface: requests, messages, streamed events and their rules. It imports no provider.

    model = open_model("anthropic:claude-sonnet-5-5", settings.models, environ)   # models/selection.py
    facts = await model.facts()
    async for event in model.stream(ModelRequest(system=…, messages=…, tools=…)):
        match event: …
    await model.close()

`default_model(settings.model, environ)` in the same module returns the name to open, or None.

Rules of a stream:

1. Chunks are yielded as they arrive. `ResponseFinished` is the last event and holds the complete `AssistantMessage`
   with provider data: append that to the history, not the chunks.
2. `ToolCallReady` comes once for each call, when its arguments are complete. They are raw text and may not be
   JSON. A model may make several calls in one message.
3. `ModelUsage` comes before `ResponseFinished`, and also for an interrupted attempt, if the provider counted it.
4. A request that fails before the first text is sent again with growing pauses, each announced by
   `RequestRetry`: thoughts and call chunks before it are void. Later failures are raised at once, and the caller
   decides whether to keep the text.
5. Failures are `PorticoError`s: AuthRequired, ContextLimit, ModelBusy (rate limit, overload), ModelRefused,
   ModelTimedOut (no answer, unreachable, or an interrupted stream), ModelReported (any other error of a
   provider), InvalidInput (unknown model). Each has a suggestion for the user.
6. Closing the iterator, or cancelling the task, ends the request at once.

A history is: user, assistant, tool results, assistant, user, … Providers require a result for every call of an
assistant message in the message after it, even if the call was cancelled or unknown.
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
    """Reasoning of a model. `opaque` is JSON of the provider that must be sent back unchanged."""

    text: str
    opaque: str = ""


class ModelToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """A tool call. `arguments` should be a JSON object, but may be any text."""

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
    """A message of `model`: opaque data of one provider is never sent to another."""

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
    """The results of all calls of the preceding assistant message."""

    results: tuple[ModelToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model sees it; `schema` is the JSON Schema of its arguments, as JSON."""

    name: str
    description: str
    schema: bytes


ThinkingEffort = Literal["off", "low", "medium", "high"]


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a request; None for the provider's default. `silence` is the read timeout in seconds."""

    output_tokens: int | None = None
    temperature: float | None = None
    thinking: ThinkingEffort | None = None
    silence: float = 120.0


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `response_schema` is a JSON Schema for the response, as JSON, which offline models keep to."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    limits: RequestLimits = RequestLimits()
    response_schema: bytes | None = None


class TextChunk(msgspec.Struct, frozen=True, tag="text_chunk"):
    text: str


class ThinkingChunk(msgspec.Struct, frozen=True, tag="thinking_chunk"):
    text: str


class ToolCallChunk(msgspec.Struct, frozen=True, tag="tool_call_chunk"):
    """A chunk of a call's arguments. The name is complete from the first chunk on."""

    id: str
    name: str
    arguments: str


class ToolCallReady(msgspec.Struct, frozen=True, tag="tool_call_ready"):
    call: ModelToolCall


class RequestRetry(msgspec.Struct, frozen=True, tag="retrying"):
    """The request failed and is sent again after `pause` seconds. `reason` is a sentence for the user."""

    attempt: int
    attempts: int
    pause: float
    reason: str


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, tag="usage"):
    """Tokens and cost of one request. `input` includes cached tokens. No cost if the price is unknown."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float | None = None


FinishReason = Literal["stop", "tool_calls", "length"]


class ResponseFinished(msgspec.Struct, frozen=True, tag="finished"):
    """The complete response. With the reason `length` it was cut off, and its last call may be incomplete."""

    reason: FinishReason
    message: AssistantMessage


ModelEvent = (
    TextChunk | ThinkingChunk | ToolCallChunk | ToolCallReady | RequestRetry | ModelUsage | ResponseFinished
)


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Capabilities of a model. `window` is in tokens, None if unknown.

    A `tiny` model can only chat. A `small` one gets few tools and few words.
    """

    window: int | None = None
    tools: bool = True
    images: bool = True
    tiny: bool = False
    small: bool = False


class Model(Protocol):
    @property
    def name(self) -> str:
        """The name `provider:model`."""
        ...

    async def facts(self) -> ModelFacts:
        """Return its capabilities. This imports the provider's packages."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send a request; see the rules of a stream above."""
        ...

    async def close(self) -> None:
        """Close connections, and stop the offline model if this was its last user.

        A session keeps its model open between turns, because opening one takes a while.
        """
        ...
