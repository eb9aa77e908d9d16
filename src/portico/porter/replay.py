"""Replays a stored transcript as ACP session updates."""

from collections.abc import Iterable, Iterator

from portico.acp import _schema as schema
from portico.porter.markdown import chunks
from portico.porter.transcript import AnyEntry, TitleEntry, TurnStartEntry, UpdateEntry


def replay(entries: Iterable[AnyEntry]) -> Iterator[schema.SessionUpdate]:
    """Yield the updates of a transcript. Tool calls that a killed process left open are shown as failed."""
    unfinished: dict[str, None] = {}
    for entry in entries:
        match entry:
            case TitleEntry(title=title):
                yield schema.SessionInfoUpdate(title=title)
            case TurnStartEntry(prompt=blocks):
                yield from _failed(unfinished)
                for block in blocks:
                    yield schema.UserMessageChunk(content=block)
            case UpdateEntry(update=schema.AgentMessageChunk(content=schema.TextContent(text=text))):
                for piece in chunks(text):
                    yield schema.AgentMessageChunk(content=schema.TextContent(text=piece))
            case UpdateEntry(update=update):
                _follow(update, unfinished)
                yield update
            case _:
                continue
    yield from _failed(unfinished)


def _follow(update: schema.SessionUpdate, unfinished: dict[str, None]) -> None:
    if isinstance(update, schema.ToolCall):
        unfinished[update.tool_call_id] = None
    elif isinstance(update, schema.ToolCallProgress) and update.status in ("completed", "failed"):
        unfinished.pop(update.tool_call_id, None)


def _failed(unfinished: dict[str, None]) -> Iterator[schema.SessionUpdate]:
    for call_id in unfinished:
        yield schema.ToolCallProgress(tool_call_id=call_id, status="failed")
    unfinished.clear()
