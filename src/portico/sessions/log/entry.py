"""An event that is not stored yet: merges following text deltas and knows its size in memory."""

import sys
from typing import cast

import msgspec
from msgspec import UnsetType

from portico.domain.events import AnyPayload, Event, TextDelta, Thinking, ToolUpdated
from portico.domain.ids import SessionId, TurnId
from portico.domain.payload_codec import encode_payload
from portico.domain.values import TerminalOutput, TextGrowth

EVENT_BYTES = 256
"""Approximate size of an event without its content."""


class JournalEntry:
    """Not numbered yet; merged text is kept in pieces until it is written."""

    __slots__ = ("at", "payload", "pieces", "size", "turn_id")

    def __init__(self, turn_id: TurnId | None, at: int, payload: AnyPayload) -> None:
        self.turn_id = turn_id
        self.at = at
        self.payload = payload
        self.pieces: list[str] | None = None
        self.size = size_of(payload)

    def absorb(self, turn_id: TurnId | None, payload: AnyPayload) -> bool:
        """Merge a following payload into this entry, if it continues the same text."""
        if turn_id != self.turn_id or type(payload) is not type(self.payload):
            return False
        if isinstance(payload, ToolUpdated) and (grown := _merge_growth(self.payload, payload)) is not None:
            self.size += size_of(grown) - size_of(self.payload)
            self.payload = grown
            return True
        text = _joinable_text(self.payload, payload)
        if text is None:
            return False
        if self.pieces is None:
            self.pieces = [_text(self.payload)]
        self.pieces.append(text)
        self.size += sys.getsizeof(text)
        return True

    def event(self, session_id: SessionId, seq: int) -> Event:
        """The numbered event, with its text in one piece."""
        if self.pieces is not None:
            self.payload, self.pieces = _with_text(self.payload, "".join(self.pieces)), None
            self.size = size_of(self.payload)
        return Event(session_id=session_id, seq=seq, turn_id=self.turn_id, at=self.at, payload=self.payload)


def size_of(payload: AnyPayload) -> int:
    """Approximate size in memory of an event with this payload."""
    match payload:
        case TextDelta(block=UnsetType(), text=text) | Thinking(block=UnsetType(), text=text):
            return EVENT_BYTES + sys.getsizeof(text)
        case _:
            return EVENT_BYTES + _encoded_size(payload)


def _encoded_size(payload: AnyPayload) -> int:
    try:
        return len(encode_payload(payload))
    except (ValueError, TypeError, OverflowError, msgspec.MsgspecError):
        return 0  # The store will refuse it with a reason.


def _merge_growth(first: AnyPayload, second: AnyPayload) -> ToolUpdated | None:
    """Two updates of which the second only appends to the first, as one."""
    match first, second:
        case ToolUpdated(tool_id=one, grown=TextGrowth() as before), ToolUpdated(
            tool_id=two, grown=TextGrowth() as after
        ):
            only = first == ToolUpdated(tool_id=one, grown=before, status=first.status)
            if one != two or not only or second != ToolUpdated(tool_id=one, grown=after, status=first.status):
                return None
            if after.dropped > len(before.text):
                return None
            text = before.text[: len(before.text) - after.dropped] + after.text
            return msgspec.structs.replace(first, grown=TextGrowth(text=text, dropped=before.dropped))
        case _:
            return None


def _joinable_text(first: AnyPayload, second: AnyPayload) -> str | None:
    """The text of the second payload, if it continues that of the first, which is of the same type."""
    if isinstance(second, TextDelta | Thinking):
        before = cast(TextDelta, first)
        is_text = isinstance(before.block, UnsetType) and isinstance(second.block, UnsetType)
        return second.text if is_text and before.message_id == second.message_id else None
    match first, second:
        case ToolUpdated(terminal=TerminalOutput() as one), ToolUpdated(terminal=TerminalOutput() as two):
            same = first.tool_id == second.tool_id and one.terminal_id == two.terminal_id
            return two.text if same and not two.ended and not one.ended else None
        case _:
            return None


def _text(payload: AnyPayload) -> str:
    match payload:
        case TextDelta(text=text) | Thinking(text=text) | ToolUpdated(terminal=TerminalOutput(text=text)):
            return text
        case _:
            raise TypeError(f"{payload.kind} has no text to join")


def _with_text(payload: AnyPayload, text: str) -> AnyPayload:
    if isinstance(payload, ToolUpdated) and payload.terminal is not None:
        terminal = msgspec.structs.replace(payload.terminal, text=text)
        return msgspec.structs.replace(payload, terminal=terminal)
    return msgspec.structs.replace(payload, text=text)
