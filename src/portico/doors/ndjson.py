"""NDJSON stream of a session: one event per line as a JSON object, for programs.

Every line is an event of the log with its `seq`. Two have another name here because they close the
stream: `turn_ended` is `result`, with the whole answer, and the state change after it is `done`, with
the exit code. The stream is closed in this way even if the log fails.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from portico.domain.errors import PorticoError
from portico.domain.events import (
    PAYLOADS,
    AnyPayload,
    ErrorReported,
    Event,
    PromptSubmitted,
    StateChanged,
    ToolStarted,
    TurnEnded,
)
from portico.domain.turns import TurnState
from portico.doors.turn_outcome import TurnOutcome
from portico.sessions.log.watch import ends_turn

PROTOCOL = 1


class ResultPayload(TurnEnded, frozen=True, kw_only=True):
    """End of a turn, with the whole answer."""

    text: str


class DonePayload(StateChanged, frozen=True, kw_only=True):
    """The last line of a stream."""

    exit_code: int


class NdjsonLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    protocol: int = PROTOCOL
    type: str
    session_id: str
    seq: int
    turn_id: str | None
    timestamp: str
    payload: AnyPayload | ResultPayload | DonePayload


class NdjsonStream:
    """Turns events into lines, and keeps what the last two need."""

    def __init__(self) -> None:
        self.outcome = TurnOutcome()
        self._encoder = msgspec.json.Encoder()
        self._prompt: Event | None = None
        self._last: Event | None = None
        self._state = TurnState.STARTING
        self._tools_used = 0

    def line(self, event: Event) -> bytes:
        self._note(event)
        kind, payload = self._named(event)
        line = NdjsonLine(
            type=kind,
            session_id=event.session_id,
            seq=event.seq,
            turn_id=event.turn_id,
            timestamp=event.timestamp,
            payload=payload,
        )
        return self._encoder.encode(line) + b"\n"

    def close_after_error(self, error: PorticoError, at: int) -> bytes:
        """The last lines of a turn whose log has failed.

        They are not in the log; their `seq` continues from the last event.
        """
        if self._prompt is None or self._last is None or ends_turn(self._last):
            return b""
        closing: list[AnyPayload] = [
            ErrorReported(
                code=error.code, message=error.message, recoverable=error.recoverable, details=error.details
            )
        ]
        if self.outcome.ended is None:
            closing.append(
                TurnEnded(
                    state=TurnState.FAILED,
                    stop_reason="error",
                    duration_ms=max(at - self._prompt.at, 0),
                    tools_used=self._tools_used,
                )
            )
        closing.append(StateChanged(state=TurnState.FAILED, previous=self._state, reason=error.message))
        next_seq = self._last.seq + 1
        return b"".join(
            self.line(msgspec.structs.replace(self._last, seq=next_seq + place, at=at, payload=payload))
            for place, payload in enumerate(closing)
        )

    def _note(self, event: Event) -> None:
        self.outcome.take(event.payload)
        self._last = event
        match event.payload:
            case PromptSubmitted():
                self._prompt = event
            case StateChanged(state=state) if state.active:
                self._state = state
            case ToolStarted():
                self._tools_used += 1
            case _:
                pass

    def _named(self, event: Event) -> tuple[str, AnyPayload | ResultPayload | DonePayload]:
        payload = event.payload
        if isinstance(payload, TurnEnded):
            return "result", ResultPayload(**_fields(payload), text=self.outcome.text)
        if isinstance(payload, StateChanged) and ends_turn(event):
            return "done", DonePayload(**_fields(payload), exit_code=int(self.outcome.exit_code))
        return event.kind, payload


def stream_schema() -> dict[str, Any]:
    """The JSON Schema of one line of the stream."""
    kinds: dict[str, type[msgspec.Struct]] = {
        kind: payload for kind, payload in PAYLOADS.items() if payload is not TurnEnded
    }
    kinds |= {"result": ResultPayload, "done": DonePayload}
    references, definitions = msgspec.json.schema_components(
        kinds.values(), ref_template="#/$defs/{name}", schema_hook=_raw_schema
    )
    lines = [_line_schema(kind, reference) for kind, reference in zip(kinds, references, strict=True)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Portico event stream",
        "description": "One line of `portico exec --json-stream`.",
        "oneOf": lines,
        "$defs": definitions,
    }


def _line_schema(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "protocol": {"const": PROTOCOL},
            "type": {"const": kind},
            "sessionId": {"type": "string"},
            "seq": {"type": "integer", "minimum": 1},
            "turnId": {"type": ["string", "null"]},
            "timestamp": {"type": "string", "format": "date-time"},
            "payload": payload,
        },
        "required": ["protocol", "type", "sessionId", "seq", "turnId", "timestamp", "payload"],
        "additionalProperties": False,
    }


def _raw_schema(kind: type) -> dict[str, Any]:
    if kind is msgspec.Raw:
        return {}
    raise NotImplementedError(f"no schema for {kind}")


def _fields(value: msgspec.Struct) -> dict[str, Any]:
    return dict(_items(value))


def _items(value: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    for name in value.__struct_fields__:
        yield name, getattr(value, name)
