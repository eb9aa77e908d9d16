"""The agent's side of a trace, divided into exchanges: each request with all that the agent sent for it.

Each request to the agent begins an exchange. All that the agent sent until the next request belongs to it, also
after its answer.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.session_id import read_session_id
from portico.conductor.tracing.records import AGENT, ChainClosed, ChainRecord, TraceFrame
from portico.domain import codecs
from portico.rpc.messages import (
    CANCEL_REQUEST,
    NO_PARAMS,
    ErrorObject,
    Fault,
    Frame,
    RequestId,
    cancelled_request_id,
    decode_frame,
)


class SendNotification(msgspec.Struct, frozen=True):
    """A notification."""

    method: str
    params: Raw


class SendRequest(msgspec.Struct, frozen=True):
    """A request of the agent's own. `id` is that of the recording."""

    id: RequestId
    method: str
    params: Raw


class AwaitResponse(msgspec.Struct, frozen=True):
    """Wait for the answer to a request of the agent's. `terminal` is the id of a terminal that it named."""

    id: RequestId
    terminal: str | None


class AwaitCancel(msgspec.Struct, frozen=True):
    """Wait until the client cancels the turn of this session."""

    session: str | None


class SendResponse(msgspec.Struct, frozen=True):
    result: Raw
    error: ErrorObject | None


ReplayStep = SendNotification | SendRequest | AwaitResponse | AwaitCancel | SendResponse


class RecordedExchange(msgspec.Struct, kw_only=True):
    """One request to the agent and its steps. `session` is named by the request, `opened` by its answer."""

    method: str
    session: str | None
    opened: str | None = None
    steps: list[ReplayStep] = []
    answered: bool = False

    @property
    def about(self) -> str | None:
        return self.session or self.opened


class AgentRecording(msgspec.Struct, frozen=True):
    """The agent's side of one chain. `opening` are the steps before the first request."""

    opening: tuple[ReplayStep, ...]
    exchanges: tuple[RecordedExchange, ...]
    agent_ended: bool


def make_recording(records: Iterable[ChainRecord]) -> AgentRecording:
    """Divide the records of one chain, in order, into exchanges."""
    builder = _ExchangeBuilder()
    agent_ended = False
    for record in records:
        match record:
            case TraceFrame(receiver=receiver, frame=frame) if receiver == AGENT:
                builder.heard(decode_frame(bytes(frame)))
            case TraceFrame(sender=sender, frame=frame) if sender == AGENT:
                builder.said(decode_frame(bytes(frame)))
            case ChainClosed(gone=gone):
                agent_ended = gone == "agent"
            case _:
                pass
    return AgentRecording(tuple(builder.opening), tuple(builder.exchanges), agent_ended)


class _ExchangeBuilder:
    def __init__(self) -> None:
        self.opening: list[ReplayStep] = []
        self.exchanges: list[RecordedExchange] = []
        self._open: dict[RequestId, RecordedExchange] = {}
        self._asked: dict[RequestId, list[ReplayStep]] = {}
        self._latest: list[ReplayStep] = self.opening

    def heard(self, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            return
        if isinstance(frame.method, UnsetType):
            if not isinstance(frame.id, UnsetType) and (steps := self._asked.pop(frame.id, None)) is not None:
                steps.append(AwaitResponse(frame.id, terminal_id_in(frame.result)))
        elif isinstance(frame.id, UnsetType):
            self._notified(frame.method, _params(frame))
        else:
            exchange = RecordedExchange(method=frame.method, session=read_session_id(_params(frame)))
            self.exchanges.append(exchange)
            self._open[frame.id] = exchange
            self._latest = exchange.steps

    def said(self, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            return
        if isinstance(frame.method, UnsetType):
            self._answered(frame)
            return
        params = _params(frame)
        steps = self._steps_about(read_session_id(params))
        if isinstance(frame.id, UnsetType):
            steps.append(SendNotification(frame.method, params))
        else:
            steps.append(SendRequest(frame.id, frame.method, params))
            self._asked[frame.id] = steps

    def _notified(self, method: str, params: Raw) -> None:
        """Record a notification that cancels a turn; a replay waits for no other."""
        session = read_session_id(params)
        if method == "session/cancel":
            stopped = [one for one in self._open.values() if one.session == session]
        elif method == CANCEL_REQUEST:
            named = cancelled_request_id(params)
            stopped = [self._open[named]] if named in self._open else []
        else:
            return
        for exchange in stopped:
            exchange.steps.append(AwaitCancel(exchange.session))

    def _answered(self, frame: Frame) -> None:
        exchange = None if isinstance(frame.id, UnsetType) else self._open.pop(frame.id, None)
        if exchange is None:
            return
        result = frame.result if isinstance(frame.result, Raw) else Raw(b"null")
        error = frame.error if isinstance(frame.error, ErrorObject) else None
        exchange.steps.append(SendResponse(result, error))
        exchange.opened = read_session_id(result)
        exchange.answered = True
        self._latest = exchange.steps

    def _steps_about(self, session: str | None) -> list[ReplayStep]:
        """The steps that a message of the agent belongs to: those of its session's open or last exchange.

        A session without an id yet, or a child of another, counts as the latest one.
        """
        if session is not None:
            candidates = (*self._open.values(), *reversed(self.exchanges))
            found = next((one.steps for one in candidates if one.about == session), self._latest)
            self._latest = found
        return self._latest


class _Made(msgspec.Struct, frozen=True, rename="camel"):
    terminal_id: str | None = None


def terminal_id_in(result: Raw | UnsetType | None) -> str | None:
    """The terminal that an answer names."""
    try:
        return codecs.decode_json(result, _Made).terminal_id if isinstance(result, Raw) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _params(frame: Frame) -> Raw:
    return NO_PARAMS if isinstance(frame.params, UnsetType) else frame.params
