"""Rules for every frame of a peer: JSON-RPC's envelope, and ACP's types for its method or result."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp import _schema as schema
from portico.conformance.case import Violation
from portico.conformance.dialogue import RecordedFrame
from portico.domain import codecs
from portico.rpc.messages import RequestId

Problem = tuple[RecordedFrame, str]
Side = Literal["agent", "client"]
"""Program that the kit received the frames from."""

_SHOWN = 5
"""Number of problems that a violation names."""


class _Envelope(msgspec.Struct, frozen=True):
    jsonrpc: str = ""
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _ErrorShape(msgspec.Struct, frozen=True):
    code: int
    message: str


def broken_lines(frames: Iterable[RecordedFrame]) -> Iterator[Problem]:
    """Received lines that are not one JSON-RPC 2.0 message."""
    for frame in frames:
        if frame.direction != "received":
            continue
        try:
            envelope = codecs.decode_json(frame.line, _Envelope)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield frame, f"not a JSON-RPC message: {error}"
            continue
        if envelope.jsonrpc != "2.0":
            yield frame, 'the member "jsonrpc" is not "2.0"'
        elif (
            frame.message is None and envelope.method is UNSET and envelope.result is envelope.error is UNSET
        ):
            yield frame, "neither request, notification nor response"


def broken_responses(frames: Iterable[RecordedFrame]) -> Iterator[Problem]:
    """Received responses without exactly one of result and error, or with an error of another shape."""
    for frame in frames:
        if frame.direction != "received":
            continue
        try:
            envelope = codecs.decode_json(frame.line, _Envelope)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if envelope.method is not UNSET:
            continue
        if (envelope.result is UNSET) == (envelope.error is UNSET):
            yield frame, "a response has exactly one of result and error"
        elif isinstance(envelope.error, Raw):
            try:
                codecs.decode_json(envelope.error, _ErrorShape)
            except msgspec.ValidationError as error:
                yield frame, f"the error object: {error}"


class _Typed(msgspec.Struct, frozen=True):
    """The type that the protocol gives to a payload of a frame."""

    name: str
    payload: Raw
    expected: Any


def badly_typed(frames: Iterable[RecordedFrame], side: Side = "agent") -> Iterator[Problem]:
    """Frames of one side that do not fit the types of the protocol, or that name a method it does not have."""
    for frame, typed in _typed_payloads(frames, side):
        if typed is None:
            yield frame, "a method that is neither in the protocol nor begins with _"
            continue
        try:
            codecs.decode_json(typed.payload, typed.expected)
        except msgspec.ValidationError as error:
            yield frame, f"{typed.name}: {error}"


def unknown_fields(frames: Iterable[RecordedFrame], side: Side = "agent") -> Iterator[Problem]:
    """Frames of one side with fields at the root of their payload that the protocol does not have."""
    for frame, typed in _typed_payloads(frames, side):
        if (
            typed is None
            or not isinstance(typed.expected, type)
            or not issubclass(typed.expected, msgspec.Struct)
        ):
            continue
        known = {field.encode_name for field in msgspec.structs.fields(typed.expected)}
        try:
            found = codecs.decode_json(typed.payload, dict[str, Raw])
        except msgspec.ValidationError:
            continue
        if extra := sorted(set(found) - known):
            yield frame, f"{typed.name} has the unknown field {extra[0]}"


def _typed_payloads(
    frames: Iterable[RecordedFrame], side: Side
) -> Iterator[tuple[RecordedFrame, _Typed | None]]:
    """The received frames with the type of each payload; None for a method that is not in the protocol."""
    called, own = schema.CLIENT_METHODS, schema.AGENT_METHODS
    if side == "client":
        called, own = own, called
    methods: Mapping[str, schema.Method] = called | schema.PROTOCOL_METHODS
    asked: dict[tuple[int, RequestId], str] = {}
    for frame in frames:
        message = frame.message
        if message is None:
            continue
        if frame.direction == "sent":
            if isinstance(message.method, str) and not isinstance(message.id, UnsetType):
                asked[frame.connection, message.id] = message.method
        elif isinstance(message.method, str):
            method = methods.get(message.method)
            payload = Raw(b"{}") if isinstance(message.params, UnsetType) else message.params
            if method is not None:
                yield frame, _Typed(message.method, payload, method.params)
            elif not message.method.startswith(("_", "$/")):
                yield frame, None
        elif isinstance(message.result, Raw) and not isinstance(message.id, UnsetType):
            answered = own.get(asked.pop((frame.connection, message.id), ""))
            if answered is not None and answered.result is not None:
                # A program that has nothing to say may answer with null, which the reference libraries accept.
                payload = Raw(b"{}") if bytes(message.result) == b"null" else message.result
                yield frame, _Typed(f"the result of {answered.name}", payload, answered.result)


def refuse_problems(problems: Iterable[Problem]) -> None:
    """Violation with the first few problems, if there are any."""
    found = list(islice(problems, _SHOWN))
    if found:
        texts = dict.fromkeys(problem for _, problem in found)
        raise Violation("; ".join(texts), tuple(frame for frame, _ in found))
