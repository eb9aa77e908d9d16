"""A proxy that is a program of its own, in any language, on standard input and output.

To it, the client is its peer, and the next one in the chain is reached through `proxy/successor`.
Ids belong to one hop: each request is given a new one on either side of the program, and a
cancellation is translated, never passed on.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.conductor.message import Message, failure, from_frame, notification, request
from portico.conductor.station import Route
from portico.rpc.framing import LineSplitter, Overlong
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_PARAMS,
    ErrorObject,
    Fault,
    RequestId,
    RpcError,
    decode_frame,
    id_in_ruins,
)
from portico.rpc.streams import ByteStream, StreamClosed

log = logging.getLogger(__name__)

_INITIALIZE = ("proxy/initialize", "_proxy/initialize")
_SUCCESSOR_REQUESTS = ("proxy/successor", "_proxy/successor", "_proxy/successor/request")
_SUCCESSOR_NOTIFICATIONS = ("proxy/successor", "_proxy/successor", "_proxy/successor/notification")

Send = Callable[[Message], None]


class Wrapped(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parameters of `proxy/successor`."""

    method: str
    params: Raw | UnsetType = UNSET


class _Cancel(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


class _Hop:
    """Requests on one side of the program: which id here stands for which id there."""

    def __init__(self) -> None:
        self._origins: dict[RequestId, tuple[RequestId, Send]] = {}
        self._given: dict[RequestId, RequestId] = {}

    def open(self, origin: RequestId, given: RequestId, back: Send) -> None:
        self._origins[given] = (origin, back)
        self._given[origin] = given

    def close(self, message: Message) -> bool:
        """Take a response back to whoever asked; False if nobody did."""
        if isinstance(message.id, UnsetType) or message.id not in self._origins:
            return False
        origin, back = self._origins.pop(message.id)
        self._given.pop(origin, None)
        back(message.renamed(origin))
        return True

    def given(self, params: Raw) -> RequestId | UnsetType:
        """The id under which a request that is being cancelled went on."""
        try:
            return self._given.get(msgspec.json.decode(params, type=_Cancel).request_id, UNSET)
        except msgspec.DecodeError:
            return UNSET

    def fail_all(self, error: RpcError) -> None:
        while self._origins:
            _, (origin, back) = self._origins.popitem()
            back(failure(origin, error))
        self._given.clear()


class ProgramStation:
    def __init__(self, name: str, stream: ByteStream) -> None:
        self.name = name
        self._stream = stream
        self._route: Route | None = None
        self._wrap_method = "proxy/successor"
        self._asked_by_left = _Hop()
        self._asked_by_right = _Hop()
        self._asks_left = _Hop()
        self._asks_right = _Hop()
        self._gone = False

    def join(self, route: Route) -> None:
        self._route = route

    def wants_right_going(self, message: Message) -> bool:
        return True

    def wants_left_going(self, message: Message) -> bool:
        return True

    def right_going(self, message: Message) -> None:
        if message.is_response:
            self._asks_left.close(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_at_program(self._asked_by_left, message)
        elif not isinstance(message.id, UnsetType):
            method = _INITIALIZE[0] if message.method == "initialize" else message.method
            self._ask_program(message.id, str(method), message.params, self._asked_by_left, self._to_left)
        else:
            self._to_program(message)

    def left_going(self, message: Message) -> None:
        if message.is_response:
            self._asks_right.close(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_at_program(self._asked_by_right, message)
        else:
            wrapped = Raw(msgspec.json.encode(Wrapped(str(message.method), message.params)))
            if isinstance(message.id, UnsetType):
                self._to_program(notification(self._wrapping("notification"), wrapped))
            else:
                method = self._wrapping("request")
                self._ask_program(message.id, method, wrapped, self._asked_by_right, self._to_right)

    async def run(self) -> None:
        """Read what the program says, until it is gone; then everyone who waits for it is told."""
        splitter = LineSplitter()
        while chunk := await self._stream.read():
            for line in splitter.feed(chunk):
                self._receive(line)
            await self._way().keep_pace(self)
        self._gone = True
        error = RpcError(INTERNAL_ERROR, f"the proxy {self.name} is gone")
        for hop in (self._asked_by_left, self._asked_by_right):
            hop.fail_all(error)

    async def drain(self) -> None:
        with suppress(StreamClosed):
            await self._stream.drain()

    def _receive(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            log.warning("the proxy %s sent a line of %d bytes, which was passed over", self.name, line.size)
            return
        frame = decode_frame(line)
        if isinstance(frame, Fault):
            log.warning("the proxy %s sent something malformed (%s)", self.name, frame.kind)
            if not isinstance(request_id := id_in_ruins(line), UnsetType):
                self._to_program(failure(request_id, RpcError(INVALID_REQUEST, frame.detail)))
            return
        message = from_frame(frame, line)
        if message.is_response:
            self._take_response(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_beyond(message)
        elif isinstance(message.id, UnsetType):
            self._take_notification(message)
        else:
            self._take_request(message, message.id)

    def _take_request(self, message: Message, request_id: RequestId) -> None:
        given = self._way().next_id()
        if message.method not in _SUCCESSOR_REQUESTS:
            self._asks_left.open(request_id, given, self._to_program)
            self._to_left(message.renamed(given))
            return
        if (inner := self._unwrapped(message)) is None:
            bad = RpcError(INVALID_PARAMS, f"{message.method} needs a method")
            self._to_program(failure(request_id, bad))
            return
        self._asks_right.open(request_id, given, self._to_program)
        self._to_right(request(given, inner.method, _params(inner)))

    def _take_notification(self, message: Message) -> None:
        if message.method not in _SUCCESSOR_NOTIFICATIONS:
            self._to_left(message)
        elif (inner := self._unwrapped(message)) is not None:
            self._to_right(notification(inner.method, _params(inner)))

    def _take_response(self, message: Message) -> None:
        if not (self._asked_by_left.close(message) or self._asked_by_right.close(message)):
            log.warning("the proxy %s answered %r, which nobody asked", self.name, message.id)

    def _cancel_at_program(self, hop: _Hop, message: Message) -> None:
        given = hop.given(message.params)
        if not isinstance(given, UnsetType):
            self._to_program(notification(CANCEL_REQUEST, _Cancel(given)))

    def _cancel_beyond(self, message: Message) -> None:
        for hop, send in ((self._asks_left, self._to_left), (self._asks_right, self._to_right)):
            given = hop.given(message.params)
            if not isinstance(given, UnsetType):
                send(notification(CANCEL_REQUEST, _Cancel(given)))

    def _ask_program(self, origin: RequestId, method: str, params: Any, hop: _Hop, back: Send) -> None:
        if self._gone:
            back(failure(origin, RpcError(INTERNAL_ERROR, f"the proxy {self.name} is gone")))
            return
        given = self._way().next_id()

        def answer(message: Message) -> None:
            refused = isinstance(message.error, ErrorObject) and message.error.code == METHOD_NOT_FOUND
            if method == _INITIALIZE[0] and refused:
                self._ask_program(origin, _INITIALIZE[1], params, hop, back)
            else:
                back(message)

        hop.open(origin, given, answer)
        self._to_program(request(given, method, params))

    def _unwrapped(self, message: Message) -> Wrapped | None:
        """What a `proxy/successor` carries; the program's spelling is remembered and used back."""
        self._wrap_method = str(message.method)
        try:
            return msgspec.json.decode(message.params, type=Wrapped)
        except msgspec.DecodeError:
            return None

    def _wrapping(self, kind: str) -> str:
        """The name of the wrapping method in the dialect that this program speaks."""
        spelled = self._wrap_method
        if spelled.startswith("_proxy/successor/"):
            return f"_proxy/successor/{kind}"
        return spelled

    def _way(self) -> Route:
        if self._route is None:
            raise RuntimeError(f"{self.name} is not part of a chain")
        return self._route

    def _to_left(self, message: Message) -> None:
        self._way().left_of(self, message)

    def _to_right(self, message: Message) -> None:
        self._way().right_of(self, message)

    def _to_program(self, message: Message) -> None:
        try:
            self._stream.write(message.line)
        except StreamClosed:
            log.debug("a message for the proxy %s, which is gone, was passed over", self.name)


def _params(inner: Wrapped) -> Raw:
    return NO_PARAMS if isinstance(inner.params, UnsetType) else inner.params
