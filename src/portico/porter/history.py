"""The message history of a session, kept in a form that every provider accepts.

Each message is written to the transcript first. Every tool call has a result, even if it was interrupted.
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

INTERRUPTED = "This call was interrupted. Its effects are unknown: check before you continue."

StoreEntry = Callable[[AnyEntry], None]


class MessageHistory:
    """Messages of a session. `keep` writes an entry to the transcript; without it nothing is stored."""

    def __init__(self, keep: StoreEntry | None = None) -> None:
        self._keep = keep
        self._messages: list[Message] = []

    def restore(self, entries: Iterable[AnyEntry]) -> None:
        """Restore the messages from a transcript."""
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
        """The messages in a form that providers accept: consecutive prompts merged, every call with a result."""
        return well_formed(self._messages)

    def __bool__(self) -> bool:
        return bool(self._messages)

    def add(self, message: Message) -> None:
        if self._keep is not None:
            self._keep(MessageEntry(message=message))
        self._messages.append(message)

    def compact(self, messages: Iterable[Message]) -> None:
        """Replace the history with fewer messages."""
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
    """Yield one message with a result for each call, in order; nothing without calls."""
    if calls:
        known = {result.call_id: result for result in results}
        yield ToolMessage(tuple(known.get(call.id) or failed_result(call, INTERRUPTED) for call in calls))
