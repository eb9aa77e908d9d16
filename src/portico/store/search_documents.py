"""Text of the log as documents for the search index: a prompt, a whole answer, a tool call.

Answers and thoughts arrive in pieces that split words, so the pieces of one message are joined first.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.domain.events import (
    ErrorReported,
    Event,
    Notice,
    PromptSubmitted,
    QuestionAsked,
    TextDelta,
    Thinking,
    ToolCompleted,
    ToolStarted,
)
from portico.domain.search import DocumentKind
from portico.domain.values import DiffPart, Location, TextPart, ToolPart

_MOST_CHARACTERS = 20_000
"""A longer answer becomes several documents. Of other messages, the rest is not indexed: it is output of programs."""


class SearchDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Text of one message. `seq` is its first event, `last_seq` its last."""

    seq: int
    last_seq: int
    at: int
    kind: DocumentKind
    text: str
    paths: str = ""


def documents_of(events: Iterable[Event]) -> Iterator[SearchDocument]:
    """The documents of consecutive events. The last message may continue in the events that follow."""
    message: list[Event] = []
    size = 0
    for event in events:
        if message and (size >= _MOST_CHARACTERS or not _continues(message[-1], event)):
            yield _joined(message)
            message, size = [], 0
        if isinstance(event.payload, TextDelta | Thinking):
            message.append(event)
            size += len(event.payload.text)
        elif (document := _single(event)) is not None:
            yield document
    if message:
        yield _joined(message)


def _continues(last: Event, event: Event) -> bool:
    return event.kind == last.kind and event.turn_id == last.turn_id


def _joined(message: list[Event]) -> SearchDocument:
    first = message[0]
    kind: DocumentKind = "answer" if isinstance(first.payload, TextDelta) else "thought"
    texts = (event.payload.text for event in message if isinstance(event.payload, TextDelta | Thinking))
    return _document(first, kind, "".join(texts), last_seq=message[-1].seq)


def _single(event: Event) -> SearchDocument | None:
    match event.payload:
        case PromptSubmitted(text=text):
            return _document(event, "prompt", text)
        case ToolStarted() as call:
            return _document(event, "tool", _tool_text(call), paths=_paths(call.locations, call.content))
        case ToolCompleted() as call:
            text = _tool_text(call)
            paths = _paths(call.locations or (), call.content or ())
            return _document(event, "tool", text, paths=paths) if text or paths else None
        case QuestionAsked(message=text):
            return _document(event, "notice", text)
        case Notice(text=text, details=details):
            return _document(event, "notice", f"{text}\n{details or ''}".strip())
        case ErrorReported(message=text):
            return _document(event, "error", text)
        case _:
            return None


def _document(
    event: Event, kind: DocumentKind, text: str, *, paths: str = "", last_seq: int | None = None
) -> SearchDocument:
    return SearchDocument(
        seq=event.seq,
        last_seq=last_seq or event.seq,
        at=event.at,
        kind=kind,
        text=text,
        paths=paths,
    )


def _tool_text(call: ToolStarted | ToolCompleted) -> str:
    texts = [call.title or "", _command(call.input)]
    texts += [part.text for part in call.content or () if isinstance(part, TextPart)]
    return "\n".join(text for text in texts if text)[:_MOST_CHARACTERS]


def _command(arguments: Raw | UnsetType) -> str:
    """The shell command among the arguments of a call, if there is one."""
    if arguments is UNSET:
        return ""
    try:
        command = codecs.decode_json(arguments, _CommandArguments).command
    except msgspec.DecodeError:
        return ""
    return command if isinstance(command, str) else " ".join(command)


class _CommandArguments(msgspec.Struct):
    command: str | list[str] = ""


def _paths(locations: Iterable[Location], content: Iterable[ToolPart]) -> str:
    found = [location.path for location in locations]
    found += [part.path for part in content if isinstance(part, DiffPart)]
    return "\n".join(dict.fromkeys(found))
