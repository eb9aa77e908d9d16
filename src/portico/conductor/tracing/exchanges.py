"""What an agent said in a trace, cut up by what it was asked: so that it can be said again when that is asked again.

Each request to the agent begins an exchange. Whatever the agent did until it had answered belongs to it, and
whatever it did after that without having been asked anew.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, UnsetType

from portico.conductor.tracing.records import AGENT, Closed, OfChain, Passed
from portico.conductor.tracing.steps import session_in
from portico.domain import codecs
from portico.rpc.messages import CANCEL_REQUEST, NO_PARAMS, ErrorObject, Fault, Frame, RequestId, decode_frame


class Say(msgspec.Struct, frozen=True):
    """A notification."""

    method: str
    params: Raw


class Ask(msgspec.Struct, frozen=True):
    """A request of the agent's own. `id` is that of the recording."""

    id: RequestId
    method: str
    params: Raw


class Await(msgspec.Struct, frozen=True):
    """The answer to it came here. `terminal` is the name that it gave to one."""

    id: RequestId
    terminal: str | None


class AwaitCancel(msgspec.Struct, frozen=True):
    """The agent was told to stop, in this session."""

    session: str | None


class Answer(msgspec.Struct, frozen=True):
    result: Raw
    error: ErrorObject | None


Beat = Say | Ask | Await | AwaitCancel | Answer


class Exchange(msgspec.Struct, kw_only=True):
    """`session` is what the request named; `opened` the session that its answer gave a name."""

    method: str
    session: str | None
    opened: str | None = None
    beats: list[Beat] = []
    answered: bool = False

    @property
    def about(self) -> str | None:
        return self.session or self.opened


class Recording(msgspec.Struct, frozen=True):
    """The agent's side of one chain. `opening` is what it said before it was asked anything."""

    opening: tuple[Beat, ...]
    exchanges: tuple[Exchange, ...]
    agent_ended: bool


def make_recording(records: Iterable[OfChain]) -> Recording:
    """Cut up the records of one chain, in their order."""
    cutting = _Cutting()
    agent_ended = False
    for record in records:
        match record:
            case Passed(receiver=receiver, frame=frame) if receiver == AGENT:
                cutting.heard(decode_frame(bytes(frame)))
            case Passed(sender=sender, frame=frame) if sender == AGENT:
                cutting.said(decode_frame(bytes(frame)))
            case Closed(gone=gone):
                agent_ended = gone == "agent"
            case _:
                pass
    return Recording(tuple(cutting.opening), tuple(cutting.exchanges), agent_ended)


class _Cutting:
    def __init__(self) -> None:
        self.opening: list[Beat] = []
        self.exchanges: list[Exchange] = []
        self._open: dict[RequestId, Exchange] = {}
        self._asked: dict[RequestId, list[Beat]] = {}
        self._latest: list[Beat] = self.opening

    def heard(self, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            return
        if isinstance(frame.method, UnsetType):
            if not isinstance(frame.id, UnsetType) and (beats := self._asked.pop(frame.id, None)) is not None:
                beats.append(Await(frame.id, terminal_in(frame.result)))
        elif isinstance(frame.id, UnsetType):
            self._told(frame.method, _params(frame))
        else:
            exchange = Exchange(method=frame.method, session=session_in(_params(frame)))
            self.exchanges.append(exchange)
            self._open[frame.id] = exchange
            self._latest = exchange.beats

    def said(self, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            return
        if isinstance(frame.method, UnsetType):
            self._answered(frame)
            return
        params = _params(frame)
        beats = self._beats_about(session_in(params))
        if isinstance(frame.id, UnsetType):
            beats.append(Say(frame.method, params))
        else:
            beats.append(Ask(frame.id, frame.method, params))
            self._asked[frame.id] = beats

    def _told(self, method: str, params: Raw) -> None:
        """Of all notifications to an agent, those that stop it are the ones that it waits for."""
        session = session_in(params)
        if method == "session/cancel":
            stopped = [one for one in self._open.values() if one.session == session]
        elif method == CANCEL_REQUEST:
            named = _named(params)
            stopped = [self._open[named]] if named in self._open else []
        else:
            return
        for exchange in stopped:
            exchange.beats.append(AwaitCancel(exchange.session))

    def _answered(self, frame: Frame) -> None:
        exchange = None if isinstance(frame.id, UnsetType) else self._open.pop(frame.id, None)
        if exchange is None:
            return
        result = frame.result if isinstance(frame.result, Raw) else Raw(b"null")
        error = frame.error if isinstance(frame.error, ErrorObject) else None
        exchange.beats.append(Answer(result, error))
        exchange.opened = session_in(result)
        exchange.answered = True
        self._latest = exchange.beats

    def _beats_about(self, session: str | None) -> list[Beat]:
        """Where something that the agent says belongs: to what is being asked in its session, or was last.

        A session that has no name yet, or that is a child of another, is taken for the one at hand.
        """
        if session is not None:
            candidates = (*self._open.values(), *reversed(self.exchanges))
            found = next((one.beats for one in candidates if one.about == session), self._latest)
            self._latest = found
        return self._latest


class _Made(msgspec.Struct, frozen=True, rename="camel"):
    terminal_id: str | None = None


class _Cancel(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


def terminal_in(result: Raw | UnsetType | None) -> str | None:
    """The terminal that an answer names."""
    try:
        return codecs.decode_json(result, _Made).terminal_id if isinstance(result, Raw) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _named(params: Raw) -> RequestId:
    try:
        return codecs.decode_json(params, _Cancel).request_id
    except msgspec.DecodeError:
        return None


def _params(frame: Frame) -> Raw:
    return NO_PARAMS if isinstance(frame.params, UnsetType) else frame.params
