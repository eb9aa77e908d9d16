"""A node that is a separate program: a proxy in any language, over standard input and output.

To it, the client is its peer, and the next one in the chain is reached through `proxy/successor`.
Ids belong to one hop: each request is given a new one on either side of the program, and a
cancellation is translated, never passed on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp.session_id import SessionParams, read_session_id
from portico.conductor.successor import (
    INITIALIZE,
    LEGACY_PROXY_INITIALIZE,
    PROXY_INITIALIZE,
    PROXY_SUCCESSOR,
    is_wrapped,
    unwrap_message,
    wrap_message,
)
from portico.rpc.frames import MalformedLine, Received, Transport, as_frames
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CancelParams,
    ErrorObject,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
    failure,
    notification,
    request,
)
from portico.rpc.streams import StreamClosed

if TYPE_CHECKING:
    from portico.conductor.chain import Chain

log = logging.getLogger(__name__)

_TURN, _CANCEL_TURN = "session/prompt", "session/cancel"

Send = Callable[[Message], None]
ExitReport = Callable[[], Awaitable[str]]
"""The end of the program and its last output, as a sentence; empty if unknown."""


class _Hop:
    """Requests on one side of the program, with their ids on the other side."""

    def __init__(self) -> None:
        self._origins: dict[RequestId, tuple[RequestId, Send]] = {}
        self._given: dict[RequestId, RequestId] = {}

    def open(self, origin: RequestId, given: RequestId, back: Send) -> None:
        self._origins[given] = (origin, back)
        self._given[origin] = given

    def close(self, message: Message) -> bool:
        """Return a response to its caller; False if there is none."""
        if isinstance(message.id, UnsetType) or message.id not in self._origins:
            return False
        origin, back = self._origins.pop(message.id)
        self._given.pop(origin, None)
        back(message.renamed(origin))
        return True

    def given(self, params: Raw) -> RequestId | UnsetType:
        """The id with which a cancelled request was passed on."""
        named = cancelled_request_id(params)
        return UNSET if isinstance(named, UnsetType) else self._given.get(named, UNSET)

    def has(self, message: Message) -> bool:
        """Whether a message answers one of the requests."""
        return message.is_response and message.id in self._origins

    def drop(self, origin: RequestId | UnsetType) -> bool:
        """Forget a request, which is answered otherwise; False if it was answered already."""
        given = UNSET if isinstance(origin, UnsetType) else self._given.pop(origin, UNSET)
        return not isinstance(given, UnsetType) and self._origins.pop(given, None) is not None

    def cancel_all(self, send: Send) -> None:
        """Cancel all open requests, because their caller is gone. Late responses are dropped."""
        for given in list(self._origins):
            send(notification(CANCEL_REQUEST, CancelParams(given)))

    def fail_all(self, error: RpcError) -> None:
        while self._origins:
            _, (origin, back) = self._origins.popitem()
            back(failure(origin, error))
        self._given.clear()


class LeaveOut(msgspec.Struct, frozen=True):
    """Rule for leaving a program out of the chain: the report, and how long `initialize` waits."""

    report: Callable[[str, str], None]
    seconds: float


class _Start:
    """The state of a program's `initialize`."""

    def __init__(self) -> None:
        self.hello: Message | None = None
        self.answer: Message | None = None
        self.is_passed_on = False
        self.waits = 0


async def _nothing() -> str:
    return ""


class ProgramNode:
    """`is_starting` while `initialize` waits for this program alone.

    With `leave_out` a program that ends, or keeps `initialize` waiting too long, is reported and left out of the
    chain. Without it, the requests that it would have to pass on fail.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        exit_report: ExitReport = _nothing,
        leave_out: "LeaveOut | None" = None,
    ) -> None:
        self.name = name
        self.is_starting = False
        self._start = _Start()
        self._leave_out = leave_out
        self._is_left_out = False
        self.frames = as_frames(transport)
        self._exit_report = exit_report
        self._chain: Chain | None = None
        self._dialect = PROXY_SUCCESSOR
        self._asked_by_left = _Hop()
        self._asked_by_right = _Hop()
        self._asks_left = _Hop()
        self._asks_right = _Hop()
        self._turns: dict[RequestId, str] = {}
        self._gone: RpcError | None = None

    def join(self, chain: "Chain") -> None:
        self._chain = chain

    def wants_from_client(self, message: Message) -> bool:
        return not self._is_left_out

    def wants_from_agent(self, message: Message) -> bool:
        return not self._is_left_out or self._asks_right.has(message)

    def receive_from_client(self, message: Message) -> None:
        if message.is_response:
            self._asks_left.close(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_at_program(self._asked_by_left, message)
        elif isinstance(message.id, UnsetType):
            self._to_program(message)
        elif message.method == INITIALIZE:
            self._start.hello = message
            self._wait_for_program()
            self._greet(message.id, PROXY_INITIALIZE, message.params)
        else:
            self._ask_program(message.id, self._asked_by_left, message.renamed, self._to_left)

    def receive_from_agent(self, message: Message) -> None:
        if message.is_response:
            self._asks_right.close(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_at_program(self._asked_by_right, message)
        elif isinstance(message.id, UnsetType):
            self._to_program(wrap_message(message, self._dialect, UNSET))
        else:
            wrap = partial(wrap_message, message, self._dialect)
            self._ask_program(message.id, self._asked_by_right, wrap, self._to_right)

    async def run(self) -> None:
        """Handle the program's messages until it exits; then nothing stays open that it had a part in."""
        await self._joined_chain().read(self.frames, self._receive)
        report = await self._exit_report()
        self._gone = RpcError(INTERNAL_ERROR, f"The proxy {self.name} is gone. {report}".rstrip())
        if self._leave_out is not None and not self._is_left_out:
            self._step_aside(self._leave_out, f"It is gone. {report}".rstrip())
        for session_id in list(self._turns.values()):
            self._to_right(notification(_CANCEL_TURN, SessionParams(session_id)))
        self._asks_left.cancel_all(self._to_left)
        if not (self._is_left_out and self._start.is_passed_on and self._start.answer is None):
            self._asks_right.cancel_all(self._to_right)
        for hop in (self._asked_by_left, self._asked_by_right):
            hop.fail_all(self._gone)

    def _receive(self, frame: Received) -> None:
        try:
            if isinstance(frame, MalformedLine):
                self._take_malformed(frame)
            else:
                self._take(frame)
        except Exception:  # top level of a received frame: no message of a program ends the chain
            log.exception("a message of the proxy %s could not be handled", self.name)

    def _take_malformed(self, malformed: MalformedLine) -> None:
        log.warning("the proxy %s sent a malformed message (%s)", self.name, malformed.fault.kind)
        if not isinstance(malformed.request_id, UnsetType):
            refusal = RpcError(INVALID_REQUEST, malformed.fault.detail)
            self._to_program(failure(malformed.request_id, refusal))
        elif malformed.response is not None:
            self._take_response(malformed.response)

    def _take(self, message: Message) -> None:
        if message.is_response:
            self._take_response(message)
        elif message.method == CANCEL_REQUEST:
            self._cancel_beyond(message)
        elif isinstance(message.id, UnsetType):
            self._take_notification(message)
        else:
            self._take_request(message, message.id)

    def _take_request(self, message: Message, request_id: RequestId) -> None:
        given = self._joined_chain().next_id()
        if not is_wrapped(message):
            self._asks_left.open(request_id, given, self._to_program)
            self._to_left(message.renamed(given))
            return
        try:
            inner = self._unwrapped(message, given)
        except RpcError as error:
            self._to_program(failure(request_id, error))
            return
        back: Send = self._to_program
        if inner.method == INITIALIZE:
            self.is_starting, back = False, self._hand_back_greeting
            self._start.is_passed_on = True
        elif inner.method == _TURN:
            back = self._begin_turn(inner, given)
        self._asks_right.open(request_id, given, back)
        self._to_right(inner)

    def _begin_turn(self, prompt: Message, given: RequestId) -> Send:
        """Remember whose turn it is until it is over; how its end is handed back."""
        if (session_id := read_session_id(prompt.params)) is not None:
            self._turns[given] = session_id

        def hand_back(answer: Message) -> None:
            self._turns.pop(given, None)
            self._to_program(answer)

        return hand_back

    def _hand_back_greeting(self, answer: Message) -> None:
        if self._is_left_out:
            self._answer_start(answer)
            return
        self._start.answer = answer
        self._wait_for_program()
        self._to_program(answer)

    def _wait_for_program(self) -> None:
        """Leave the program out if `initialize` waits too long for it."""
        self.is_starting = True
        if self._leave_out is not None:
            self._start.waits += 1
            waiting = self._watch_start(self._leave_out, self._start.waits)
            self._joined_chain().spawn(waiting, f"{self.name}: waiting for its start")

    async def _watch_start(self, leave_out: "LeaveOut", wait: int) -> None:
        await asyncio.sleep(leave_out.seconds)
        if self.is_starting and self._start.waits == wait:
            self._step_aside(leave_out, f"It did not answer initialize within {leave_out.seconds:g} s.")

    def _step_aside(self, leave_out: "LeaveOut", why: str) -> None:
        """Let all messages pass; `initialize`, if it was not answered yet, continues without the program."""
        self._is_left_out, self.is_starting = True, False
        leave_out.report(self.name, why)
        hello = self._start.hello
        if hello is None or not self._asked_by_left.drop(hello.id):
            return
        if self._start.answer is not None:
            self._answer_start(self._start.answer)
        elif not self._start.is_passed_on:
            self._to_right(hello)

    def _answer_start(self, answer: Message) -> None:
        if self._start.hello is not None and not isinstance(self._start.hello.id, UnsetType):
            self._to_left(answer.renamed(self._start.hello.id))

    def _take_notification(self, message: Message) -> None:
        if not is_wrapped(message):
            self._to_left(message)
            return
        with suppress(RpcError):
            self._to_right(self._unwrapped(message, UNSET))

    def _take_response(self, message: Message) -> None:
        if not (self._asked_by_left.close(message) or self._asked_by_right.close(message)):
            log.warning("the proxy %s answered the unknown request %r", self.name, message.id)

    def _cancel_at_program(self, hop: _Hop, message: Message) -> None:
        given = hop.given(message.params)
        if not isinstance(given, UnsetType):
            self._to_program(notification(CANCEL_REQUEST, CancelParams(given)))

    def _cancel_beyond(self, message: Message) -> None:
        for hop, send in ((self._asks_left, self._to_left), (self._asks_right, self._to_right)):
            given = hop.given(message.params)
            if not isinstance(given, UnsetType):
                send(notification(CANCEL_REQUEST, CancelParams(given)))

    def _greet(self, origin: RequestId, word: str, params: Raw) -> None:
        """Tell the program to initialize as a proxy; if it does not know the word, in the older one."""

        def answered(answer: Message) -> None:
            refused = isinstance(answer.error, ErrorObject) and answer.error.code == METHOD_NOT_FOUND
            if refused and word == PROXY_INITIALIZE:
                self._greet(origin, LEGACY_PROXY_INITIALIZE, params)
            else:
                self.is_starting = False
                self._to_left(answer)

        self._ask_program(origin, self._asked_by_left, lambda given: request(given, word, params), answered)

    def _ask_program(
        self, origin: RequestId, hop: _Hop, worded: Callable[[RequestId], Message], back: Send
    ) -> None:
        if self._gone is not None:
            back(failure(origin, self._gone))
            return
        given = self._joined_chain().next_id()
        hop.open(origin, given, back)
        self._to_program(worded(given))

    def _unwrapped(self, message: Message, request_id: RequestId | UnsetType) -> Message:
        """The inner message of a `proxy/successor`; the program's spelling is remembered for replies."""
        self._dialect = str(message.method)
        return unwrap_message(message, request_id)

    def _joined_chain(self) -> "Chain":
        if self._chain is None:
            raise RuntimeError(f"{self.name} is not part of a chain")
        return self._chain

    def _to_left(self, message: Message) -> None:
        self._joined_chain().send_left_of(self, message)

    def _to_right(self, message: Message) -> None:
        self._joined_chain().send_right_of(self, message)

    def _to_program(self, message: Message) -> None:
        try:
            self.frames.send(message)
        except StreamClosed:
            log.debug("a message for the proxy %s, which is gone, was dropped", self.name)
