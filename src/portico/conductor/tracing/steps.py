"""Follows the frames of one traced chain: pairs responses with requests and finds what each proxy changed.

Only requests that are still open are kept in memory.
"""

from collections import deque
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.session_id import read_session_id
from portico.conductor.tracing.json_diff import json_changes
from portico.conductor.tracing.records import AGENT, CONDUCTOR, EDITOR, ChainDirection, TraceFrame
from portico.domain import codecs
from portico.rpc.messages import NO_PARAMS, ErrorObject, Fault, RequestId, decode_frame

FrameKind = Literal["request", "response", "notification", "unreadable"]

_WRAPPING = "proxy/successor"
_NOT_PROXIES = (EDITOR, AGENT, CONDUCTOR)
_MOST_ARRIVALS = 256


class TraceStep(msgspec.Struct, frozen=True, kw_only=True):
    """A frame on its way from one node of the chain to the next that handled it."""

    line: int
    at: int
    direction: ChainDirection
    sender: str
    receiver: str
    kind: FrameKind
    id: RequestId = None
    method: str = ""
    """The method; of the request if this is its response, of the inner message if this is wrapped."""
    wrapped: bool = False
    session: str | None = None
    body: Raw = NO_PARAMS
    """The parameters, the result, or what cannot be read."""
    error: ErrorObject | None = None
    duration: int | None = None
    """Milliseconds from the request to this answer."""
    request_line: int | None = None
    """The line of the request that this answers."""
    changed: tuple[str, ...] | None = None
    """The fields that its sender changed in passing it on; None if the sender made it."""
    frame: Raw


class UnansweredRequest(msgspec.Struct, frozen=True):
    """A request that has no answer yet, and the node that waits for it."""

    link: str
    id: RequestId
    method: str
    at: int
    session: str | None
    line: int


class FrameMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """A frame by itself. `method` and `body` are those of the inner message, if it is `wrapped` for a successor."""

    kind: FrameKind
    id: RequestId = None
    method: str = ""
    wrapped: bool = False
    body: Raw = NO_PARAMS
    error: ErrorObject | None = None


class _Inner(msgspec.Struct, frozen=True):
    method: str
    params: Raw = NO_PARAMS


class TraceFollower:
    """Give it the frames of one chain in their order."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, RequestId], UnansweredRequest] = {}
        self._arrived: dict[tuple[str, ChainDirection, FrameKind, str], deque[TraceStep]] = {}

    @property
    def waiting(self) -> list[UnansweredRequest]:
        """The requests of either end that are still open."""
        return [one for one in self._waiting.values() if one.link in (EDITOR, AGENT)]

    def take(self, line: int, record: TraceFrame) -> TraceStep:
        step = self._step(line, record, frame_meaning(record.frame))
        if step.sender not in _NOT_PROXIES and (before := self._arrival(step)) is not None:
            step = msgspec.structs.replace(
                step, changed=json_changes(step_content(before), step_content(step))
            )
        if step.receiver not in _NOT_PROXIES:
            key = (step.receiver, step.direction, step.kind, step.method)
            self._arrived.setdefault(key, deque(maxlen=_MOST_ARRIVALS)).append(step)
        return step

    def _step(self, line: int, record: TraceFrame, frame: FrameMeaning) -> TraceStep:
        at, session, asked = milliseconds(record.at), read_session_id(frame.body), None
        if frame.kind == "request":
            waiting = UnansweredRequest(record.sender, frame.id, frame.method, at, session, line)
            self._waiting[record.sender, frame.id] = waiting
        elif frame.kind == "response":
            asked = self._waiting.pop((record.receiver, frame.id), None)
        return TraceStep(
            line=line,
            at=at,
            direction=record.direction,
            sender=record.sender,
            receiver=record.receiver,
            kind=frame.kind,
            id=frame.id,
            method=frame.method if asked is None else asked.method,
            wrapped=frame.wrapped,
            session=session if asked is None else asked.session or session,
            body=frame.body,
            error=frame.error,
            duration=None if asked is None else max(0, at - asked.at),
            request_line=None if asked is None else asked.line,
            frame=record.frame,
        )

    def _arrival(self, step: TraceStep) -> TraceStep | None:
        """The incoming frame that this one passes on: the same if it is there, else the oldest of its kind.

        Ids stay the same in this process and change at a program. Frames keep their order, so earlier ones that
        were not passed on are not expected any more.
        """
        waiting = self._arrived.get((step.sender, step.direction, step.kind, step.method))
        if not waiting:
            return None
        if step.kind == "notification":
            for _ in range(next((place for place, one in enumerate(waiting) if one.body == step.body), 0)):
                waiting.popleft()
            return waiting.popleft()
        found = next((one for one in waiting if one.id == step.id), waiting[0])
        waiting.remove(found)
        return found


def frame_meaning(line: Raw) -> FrameMeaning:
    """The kind and content of a frame, readable or not."""
    frame = decode_frame(bytes(line))
    if isinstance(frame, Fault):
        return FrameMeaning(kind="unreadable", body=line)
    number = None if isinstance(frame.id, UnsetType) else frame.id
    if isinstance(frame.method, UnsetType):
        result = frame.result if isinstance(frame.result, Raw) else NO_PARAMS
        error = frame.error if isinstance(frame.error, ErrorObject) else None
        return FrameMeaning(kind="response", id=number, body=result, error=error)
    kind: FrameKind = "notification" if isinstance(frame.id, UnsetType) else "request"
    params = NO_PARAMS if isinstance(frame.params, UnsetType) else frame.params
    inner = _inner(params) if frame.method.lstrip("_").startswith(_WRAPPING) else None
    if inner is None:
        return FrameMeaning(kind=kind, id=number, method=frame.method, body=params)
    return FrameMeaning(kind=kind, id=number, method=inner.method, body=inner.params, wrapped=True)


def step_content(step: TraceStep) -> Raw:
    """The content of a frame: its parameters, its result or its error."""
    return step.body if step.error is None else Raw(msgspec.json.encode(step.error))


def milliseconds(at: str) -> int:
    """A time of a record as a number; 0 if it is none."""
    try:
        return round(datetime.fromisoformat(at).timestamp() * 1000)
    except ValueError:
        return 0


def _inner(params: Raw) -> _Inner | None:
    try:
        return codecs.decode_json(params, _Inner)
    except (msgspec.DecodeError, RecursionError):
        return None
