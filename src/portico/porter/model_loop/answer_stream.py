"""Receives a model's answer and shows it in batches while it arrives."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Generic, Protocol, TypeVar, assert_never

from portico.domain.errors import PorticoError
from portico.porter.models.model import (
    AssistantMessage,
    Model,
    ModelEvent,
    ModelRequest,
    ModelText,
    ModelUsage,
    RequestRetry,
    ResponseFinished,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolCallReady,
)
from portico.processes.tasks import silence_failure

GATHER_SECONDS = 0.04

Item = TypeVar("Item")


class AnswerSink(Protocol):
    """Receives the text of a model."""

    async def stream_text(self, text: str, *, begins: bool) -> None:
        """Show a chunk of an answer; `begins` marks the first."""
        ...

    async def stream_thought(self, text: str) -> None: ...

    def notice(self, title: str, description: str | None = None, *, severity: str = "info") -> None:
        """Show a notice that is not part of the answer."""
        ...


class AnswerInterrupted(Exception):
    """The stream ended early."""


class StreamedAnswer:
    """The part of an answer that has arrived. Text that was shown is kept even if the rest fails."""

    def __init__(self, model: str, sink: AnswerSink) -> None:
        self._model = model
        self._sink = sink
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._shown_count = 0
        self.usage = ModelUsage()
        self.finished: ResponseFinished | None = None

    def take(self, event: ModelEvent) -> bool:
        """Add an event. Returns whether there is something new to show."""
        match event:
            case TextChunk(text=text):
                self._text.append(text)
            case ThinkingChunk(text=text):
                self._thoughts.append(text)
            case RequestRetry():
                again = f"Trying again in {event.pause:.3g} s ({event.attempt} of {event.attempts})."
                self._sink.notice(event.reason, again, severity="warning")
            case ModelUsage():
                self.usage = event
            case ResponseFinished():
                self.finished = event
            case ToolCallChunk() | ToolCallReady():
                return False
            case _:
                assert_never(event)
        return bool(self._thoughts) or len(self._text) > self._shown_count

    async def show(self) -> None:
        if self._thoughts:
            thoughts, self._thoughts = "".join(self._thoughts), []
            await self._sink.stream_thought(thoughts)
        if piece := "".join(self._text[self._shown_count :]):
            begins, self._shown_count = self._shown_count == 0, len(self._text)
            await self._sink.stream_text(piece, begins=begins)

    @property
    def shown(self) -> AssistantMessage | None:
        """The text that was shown, as a message without calls."""
        text = "".join(self._text[: self._shown_count])
        return AssistantMessage((ModelText(text),), model=self._model) if text.strip() else None


async def receive_answer(model: Model, request: ModelRequest, answer: StreamedAnswer) -> ResponseFinished:
    """Receive an answer. Raises the model's errors; `answer` then holds what was shown."""
    shown_at = 0.0
    clock = asyncio.get_running_loop().time
    try:
        async with _Pulled(model.stream(request)) as events:
            async for event in events:
                if event is None or (answer.take(event) and clock() - shown_at >= GATHER_SECONDS):
                    await answer.show()
                    shown_at = clock()
    except PorticoError:
        await answer.show()
        raise
    await answer.show()
    if answer.finished is None:
        raise AnswerInterrupted
    return answer.finished


class _Pulled(Generic[Item]):
    """A context that iterates over a stream and yields None when the stream pauses after an item."""

    def __init__(self, stream: AsyncGenerator[Item]) -> None:
        self._stream = stream
        self._next: asyncio.Future[Item] | None = None

    async def __aenter__(self) -> AsyncIterator[Item | None]:
        return self._items()

    async def __aexit__(self, *error: object) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait({self._next})
        await self._stream.aclose()

    async def _items(self) -> AsyncIterator[Item | None]:
        quiet = True
        while True:
            if self._next is None:
                self._next = silence_failure(asyncio.ensure_future(anext(self._stream)))
            await asyncio.wait({self._next}, timeout=None if quiet else GATHER_SECONDS)
            if not self._next.done():
                quiet = True
                yield None
                continue
            done, self._next, quiet = self._next, None, False
            try:
                item = done.result()
            except StopAsyncIteration:
                return
            yield item
