"""Events as messages: whatever the log has, a client gets."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from portico.api.event_reader import from_event
from portico.api.v1 import events_pb as pb
from portico.domain import events, values
from portico.domain.errors import ErrorCode, ErrorDetails, MalformedEvent
from portico.domain.events import PAYLOADS, AnyPayload, Event
from portico.domain.ids import SessionId, TurnId
from portico.domain.payload_codec import encode_payload
from portico.domain.turns import TurnState
from portico.doors.api.event_messages import ENCODERS, to_event, to_payload
from tests.doors.api.payloads import payload_of


def event(payload: AnyPayload) -> Event:
    return Event(
        session_id=SessionId("s"), seq=7, turn_id=TurnId("t1"), at=1_767_225_600_123, payload=payload
    )


def told(payload: AnyPayload) -> Any:
    """A payload as a client reads it in JSON."""
    return json.loads(to_payload(payload).to_json())


def test_every_kind_of_payload_has_an_encoder() -> None:
    assert set(ENCODERS) == set(PAYLOADS.values())


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_no_value_of_any_event_is_lost_on_the_way(kind: str) -> None:
    @settings(max_examples=25)
    @given(payload_of(kind))
    def check(payload: AnyPayload) -> None:
        message = to_event(event(payload))
        assert message.payload is not None
        assert message.payload.field == kind
        assert pb.Event.from_binary(message.to_binary()) == message
        assert json.loads(message.to_json())["at"] == "2026-01-01T00:00:00.123Z"
        assert to_event(from_event(message)) == message
        heard = {str(one) for one in leaves(told(payload))}
        for value in leaves(json.loads(encode_payload(payload))):
            assert_heard(value, heard, payload)

    check()


def test_what_did_not_change_is_told_apart_from_what_is_now_empty() -> None:
    assert "content" not in told(events.ToolUpdated(tool_id="a"))
    assert told(events.ToolUpdated(tool_id="a", content=(), locations=()))["content"] == {}
    assert told(events.ToolUpdated(tool_id="a", title=""))["title"] == ""
    new = events.ToolStarted(
        tool_id="a",
        title="t",
        tool_kind="edit",
        status="pending",
        content=(
            values.DiffPart(path="p", new_text="n"),
            values.DiffPart(path="p", new_text="n", old_text=""),
        ),
    )
    fresh, emptied = (part["diff"] for part in told(new)["content"])
    assert "oldText" not in fresh
    assert emptied["oldText"] == ""
    assert told(events.UsageUpdated(used=0)) == {"used": "0"}


def test_a_failure_carries_what_its_card_shows() -> None:
    details = ErrorDetails(suggestion="do", agent="a", stderr="e", exit_status="1", auth_methods=("m",))
    message = told(
        events.ErrorReported(code=ErrorCode.AUTH_REQUIRED, message="no", recoverable=True, details=details)
    )
    assert message == {
        "code": "ERROR_CODE_AUTH_REQUIRED",
        "message": "no",
        "recoverable": True,
        "details": {
            "code": "ERROR_CODE_AUTH_REQUIRED",
            "suggestion": "do",
            "agent": "a",
            "stderr": "e",
            "exitStatus": "1",
            "authMethods": ["m"],
            "recoverable": True,
        },
    }


@pytest.mark.parametrize("number", [2**31, 2**63, 2**80, -(2**80)])
def test_a_number_beyond_all_bounds_cuts_no_door_off(number: int) -> None:
    huge: list[AnyPayload] = [
        events.ToolUpdated(
            tool_id="a",
            locations=(values.Location(path="p", line=number),),
            terminal=values.TerminalOutput(terminal_id="t", exit_code=number),
        ),
        events.UsageUpdated(used=number, size=number, input_tokens=number, output_tokens=number),
        events.QuestionAsked(
            request_id="q",
            message="m",
            mode="form",
            fields=(values.QuestionField(name="n", type="integer", minimum=number, maximum=10**400),),
        ),
    ]
    for payload in huge:
        assert to_event(event(payload)).to_binary()


def test_every_state_has_its_word() -> None:
    for state in TurnState:
        changed = told(events.StateChanged(state=state, previous=TurnState.IDLE))
        assert changed["state"] == f"TURN_STATE_{state.name}"


def test_a_client_gets_back_the_payload_that_the_log_has() -> None:
    payloads: list[AnyPayload] = [
        events.TextDelta(text="a", message_id="m"),
        events.ToolUpdated(tool_id="a", content=(), status="completed"),
        events.ToolUpdated(tool_id="a", content=(values.DiffPart(path="p", new_text="n"),)),
        events.UsageUpdated(used=0, cost=0.5),
        events.QuestionAnswered(request_id="q", action="accept", by="person", content={"a": ("b", "c")}),
        events.Notice(level="warning", text="t", source="agent"),
        events.SessionStarted(
            workspace="/w",
            agent="a",
            continued=False,
            mode="proposal",
            portico_version="1",
            forked_from=values.ForkedFrom(session_id=SessionId("o"), last_turn=TurnId("t")),
        ),
    ]
    for payload in payloads:
        assert from_event(to_event(event(payload))) == event(payload)


def test_an_event_of_an_unknown_kind_is_reported() -> None:
    with pytest.raises(MalformedEvent, match="an event with no payload"):
        from_event(pb.Event(session_id="s", seq=1))


def leaves(value: Any) -> Iterator[str | int | float | bool]:
    """Everything in a document that is no container; JSON inside a text is looked into, and names count as values."""
    match value:
        case dict():
            for name, one in value.items():
                yield name
                if name.endswith("Json") and isinstance(one, str):
                    yield from leaves(json.loads(one))
                elif name.endswith("Json"):
                    yield from (leaf for text in one for leaf in leaves(json.loads(text)))
                else:
                    yield from leaves(one)
        case list():
            for one in value:
                yield from leaves(one)
        case None:
            pass
        case _:
            yield value


def assert_heard(value: str | int | float | bool, heard: set[str], payload: AnyPayload) -> None:
    """A value of ours is there as it is, as the contract's word for it, or as the name of a branch."""
    names = {name for one in _structs(payload) for name in (*one.__struct_encode_fields__, "type")}
    if value in names or value is False or value == "":
        return
    if isinstance(payload, events.Notice) and value == payload.source:
        assert ("True" in heard) == (value == "agent")
        return
    text = str(value)
    as_number = str(float(value)) if isinstance(value, int) and not isinstance(value, bool) else text
    as_word = any(word.endswith(f"_{text.upper()}") for word in heard)
    assert text in heard or as_number in heard or as_word, (value, heard)


def _structs(value: object) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from _structs(getattr(value, name))
    elif isinstance(value, tuple):
        for one in value:
            yield from _structs(one)
