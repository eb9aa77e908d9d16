"""An agent that replays the exchanges of a recorded chain.

Requests are recognised by their method and session, in the order recorded; what they carry may differ. What the
agent asked its client is asked again, and waited for, but the answer changes nothing that follows. No time is
spent but that of the client.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, assert_never

import msgspec
from msgspec import Raw

from portico.acp.session_id import read_session_id
from portico.conductor.tracing.exchanges import (
    AgentRecording,
    AwaitCancel,
    AwaitResponse,
    RecordedExchange,
    ReplayStep,
    SendNotification,
    SendRequest,
    SendResponse,
    terminal_id_in,
)
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.frames import Tap, Transport
from portico.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    ConnectionLost,
    Fault,
    RequestId,
    RpcError,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
_Asked = dict[RequestId, "asyncio.Task[Raw | None]"]


class ReplayAgent:
    """Runs once, on a stream with a client at its other end."""

    def __init__(self, recording: AgentRecording, transport: Transport, *, tap: Tap | None = None) -> None:
        self._recording = recording
        self._left: dict[tuple[str, str | None], deque[RecordedExchange]] = {}
        for exchange in recording.exchanges:
            self._left.setdefault((exchange.method, exchange.session), deque()).append(exchange)
        self._connection = RpcConnection(transport, self, name="the client of a replay", tap=tap)
        self._terminals: dict[str, str] = {}
        self._cancels: dict[str | None, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._agent_ended = asyncio.Event()

    async def run(self) -> bool:
        """Play until the client is gone, or the recorded agent is: then False."""
        reading = asyncio.create_task(self._connection.run(), name="reading from the client")
        ending = asyncio.create_task(self._agent_ended.wait(), name="waiting for the recorded end")
        self._start(self._play(self._recording.opening, {}), "the opening")
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            return not self._agent_ended.is_set()
        finally:
            await self._connection.close()
            tasks = (reading, ending, *self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def notification(self, method: str, params: Raw) -> None:
        if method == "session/cancel":
            self._cancel(read_session_id(params)).set()

    async def request(self, method: str, params: Raw) -> RpcReply:
        exchange = self._next(method, read_session_id(params))
        if AwaitCancel(exchange.session) in exchange.steps:
            self._cancel(exchange.session).clear()
        asked: _Asked = {}
        place = next((at for at, step in enumerate(exchange.steps) if isinstance(step, SendResponse)), None)
        await self._play(exchange.steps[:place], asked)
        if place is None:
            return await self._unanswered(method)
        answer, rest = exchange.steps[place], exchange.steps[place + 1 :]
        assert isinstance(answer, SendResponse)

        def go_on() -> None:
            self._start(self._play(rest, asked), f"after {method}")

        if answer.error is None:
            return RpcReply(answer.result, go_on)
        go_on()  # in a task that begins when this one has ended, and with that the answer is written
        raise RpcError(answer.error.code, answer.error.message, answer.error.data)

    def fault(self, fault: Fault) -> None:
        log.warning("the client sent a malformed message (%s): %s", fault.kind, fault.detail)

    async def ready(self) -> None:
        """Nothing to do: no message of the client is kept."""

    def _next(self, method: str, session: str | None) -> RecordedExchange:
        """The next recorded exchange that begins like this. RpcError if there is none."""
        left = self._left.get((method, session))
        if left:
            return left.popleft()
        if left is not None:
            of = f" of session {session}" if session is not None else ""
            raise RpcError(INVALID_REQUEST, f"The recording has no further {method}{of}.")
        sessions = sorted({name for known, name in self._left if known == method and name is not None})
        if sessions:
            raise RpcError(
                INVALID_REQUEST,
                f"The recording has {method} of session {', '.join(sessions)}, not of {session}.",
            )
        raise RpcError(METHOD_NOT_FOUND, f"The recording has no {method}.")

    async def _play(self, steps: Sequence[ReplayStep], asked: _Asked) -> None:
        """Repeat what the agent did, as long as the client is connected."""
        try:
            for step in steps:
                await self._do(step, asked)
        except ConnectionLost:
            return

    async def _do(self, step: ReplayStep, asked: _Asked) -> None:
        match step:
            case SendNotification(method=method, params=params):
                self._connection.notify(method, self._with_terminals(params))
                await self._connection.drain()
            case SendRequest(id=number, method=method, params=params):
                asked[number] = self._start(
                    self._ask(method, self._with_terminals(params)), f"asking {method}"
                )
                # The question is written in the first step of its task, before anything that comes after it.
                await asyncio.sleep(0)
            case AwaitResponse(id=number, terminal=recorded):
                given = terminal_id_in(await asked[number])
                if recorded is not None and given is not None:
                    self._terminals[recorded] = given
            case AwaitCancel(session=session):
                await self._cancel(session).wait()
            case SendResponse():
                raise AssertionError("an exchange has one answer")
            case other:
                assert_never(other)

    async def _ask(self, method: str, params: Raw) -> Raw | None:
        """Ask the client. The recording continues however it answers."""
        try:
            return await self._connection.request(method, params)
        except RpcError as error:
            log.info("%s was refused: %s", method, error.message)
        except ConnectionLost:
            log.debug("%s was not answered", method)
        return None

    def _with_terminals(self, params: Raw) -> Raw:
        """The parameters with the ids that the terminals have now."""
        if not self._terminals:
            return params
        names = {msgspec.json.encode(old): msgspec.json.encode(new) for old, new in self._terminals.items()}
        found = re.compile(rb'("terminalId"\s*:\s*)(' + b"|".join(map(re.escape, names)) + b")")
        return Raw(found.sub(lambda match: match[1] + names[match[2]], bytes(params)))

    async def _unanswered(self, method: str) -> RpcReply:
        if not self._recording.agent_ended:
            raise RpcError(INTERNAL_ERROR, f"The recording ends before {method} was answered.")
        self._agent_ended.set()
        never: asyncio.Future[RpcReply] = asyncio.get_running_loop().create_future()
        return await never

    def _cancel(self, session: str | None) -> asyncio.Event:
        return self._cancels.setdefault(session, asyncio.Event())

    def _start(self, work: "Coroutine[Any, Any, T]", name: str) -> "asyncio.Task[T]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
