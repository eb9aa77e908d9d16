"""The messages a model remembers, kept in a form that every provider accepts.

Each message is in the transcript before it counts. Every call has its result, whatever happened to it.
"""

from collections.abc import Callable, Iterable

from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ToolMessage,
    UserMessage,
)
from portico.porter.transcript import AnyEntry, CompactionEntry, MessageEntry

INTERRUPTED = "This call was interrupted before it ended. What it did is not known: look before you go on."

StoreEntry = Callable[[AnyEntry], None]


class MessageHistory:
    """`keep` writes an entry to the transcript; without it nothing outlives the process."""

    def __init__(self, keep: StoreEntry | None = None) -> None:
        self._keep = keep
        self._messages: list[Message] = []

    def recall(self, entries: Iterable[AnyEntry]) -> None:
        """Take up what an earlier process left."""
        for entry in entries:
            match entry:
                case MessageEntry(message=message):
                    self._messages.append(message)
                case CompactionEntry(messages=messages):
                    self._messages = list(messages)
                case _:
                    continue

    @property
    def messages(self) -> tuple[Message, ...]:
        """As a provider accepts them: prompts in a row are one, and no call is without its result."""
        return well_formed(self._messages)

    def __bool__(self) -> bool:
        return bool(self._messages)

    def add(self, message: Message) -> None:
        if self._keep is not None:
            self._keep(MessageEntry(message=message))
        self._messages.append(message)

    def compact(self, messages: Iterable[Message]) -> None:
        """Remember this instead of all that was."""
        fewer = tuple(messages)
        if self._keep is not None:
            self._keep(CompactionEntry(messages=fewer))
        self._messages = list(fewer)


def well_formed(messages: Iterable[Message]) -> tuple[Message, ...]:
    formed: list[Message] = []
    open_calls: tuple[ModelToolCall, ...] = ()
    for message in messages:
        if isinstance(message, ToolMessage):
            formed.extend(_settled(open_calls, message.results))
            open_calls = ()
            continue
        formed.extend(_settled(open_calls, ()))
        open_calls = message.calls if isinstance(message, AssistantMessage) else ()
        last = formed[-1] if formed else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            formed[-1] = UserMessage((*last.parts, *message.parts))
        elif not isinstance(message, AssistantMessage) or message.parts:
            formed.append(message)
    formed.extend(_settled(open_calls, ()))
    return tuple(formed)


def failed_result(call: ModelToolCall, words: str) -> ModelToolResult:
    return ModelToolResult(call.id, call.name, (ModelText(words),), failed=True)


def _settled(calls: tuple[ModelToolCall, ...], results: tuple[ModelToolResult, ...]) -> Iterable[ToolMessage]:
    """One result for each call, in its order; nothing if nothing was called."""
    if calls:
        known = {result.call_id: result for result in results}
        yield ToolMessage(tuple(known.get(call.id) or failed_result(call, INTERRUPTED) for call in calls))
