"""The chain from client to agent: reads both ends and passes every message along its nodes, in order.

The chain is built when the client sends `initialize`. From then on each end is read in order, each message is
handled to completion before the next one of that end, and a side that does not keep up holds the others back.
A message goes through as it is read: no task is woken for it.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Raw, UnsetType

from portico.conductor.assembly import Assemble, StartLimit
from portico.conductor.node import ChainNode
from portico.conductor.observer import ChainObserver, ChainSide, ClosedBy
from portico.conductor.open_requests import OpenRequests
from portico.conductor.successor import INITIALIZE, Successor, read_greeting
from portico.rpc.connection import FINISH_SECONDS
from portico.rpc.frames import FrameStream, MalformedLine, Received, Transport, Wait, as_frames
from portico.rpc.messages import INTERNAL_ERROR, INVALID_REQUEST, Fault, Message, RpcError, failure
from portico.rpc.streams import StreamClosed

log = logging.getLogger(__name__)

_CLOSING_SECONDS = 1.0
_CLIENT = 0
_SILENT = RpcError(INTERNAL_ERROR, "the client has closed its end, so it cannot be asked")


OnFault = Callable[[ChainSide, Fault], None]


class Chain:
    """Runs once: from the client's first message until either end is gone.

    With `assemble_proxy` it can be a proxy of another chain, if its first message says so.
    """

    def __init__(
        self,
        client: Transport,
        assemble: Assemble,
        *,
        assemble_proxy: Assemble | None = None,
        on_fault: OnFault | None = None,
        observer: ChainObserver | None = None,
    ) -> None:
        self._client = as_frames(client)
        self._assemble = assemble
        self._assemble_proxy = assemble_proxy
        self._report_fault = on_fault or _log_fault
        self._observer = observer
        self._agent: FrameStream | None = None
        self._streams: list[FrameStream] = [self._client]
        self._successor: Successor | None = None
        self._nodes: Sequence[ChainNode] = ()
        self._places: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._made_ids = 0
        self._mark = os.urandom(4).hex()
        self._exit_error: Callable[[], Awaitable[RpcError]] | None = None
        self._start_limit: StartLimit | None = None
        self._requests = OpenRequests(self._on_fault)
        self._client_is_silent = False
        self._all_answered = asyncio.Event()

    async def run(self) -> None:
        """Carry messages until one end is gone; then every task of the chain has ended."""
        early = await self._until_initialize()
        if early is None or self._agent is None:
            return
        reading = [asyncio.create_task(self._read_client(early), name="reading from the client")]
        if self._successor is None:
            reading.append(asyncio.create_task(self._read_agent(self._agent), name="reading from the agent"))
        if self._start_limit is not None:
            work = self._wait_for_start(early[0], self._start_limit)
            reading.append(asyncio.create_task(work, name="waiting for the answer to initialize"))
        self._tasks |= {asyncio.create_task(node.run(), name=f"proxy {node.name}") for node in self._nodes}
        gone: ClosedBy = "conductor"
        try:
            done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            gone = "client" if done == {reading[0]} else "agent"
            if gone == "agent":
                await self._report_exit()
        finally:
            await self._end(reading)
            if self._observer is not None:
                self._observer.closed(gone)

    def send_right_of(self, node: ChainNode, message: Message) -> None:
        self._send_right(self._places[id(node)] + 1, message)

    def send_left_of(self, node: ChainNode, message: Message) -> None:
        self._send_left(self._places[id(node)] - 1, message)

    async def read(
        self, source: FrameStream, handle: Callable[[Received], None], *, abandon_at_end: bool = False
    ) -> None:
        """Pass all frames of an end or a program to `handle`; where they may go to holds the source back."""
        # A chain that is a proxy writes to the connection that it reads from.
        targets = [one for one in self._streams if one is not source or one is self._agent is self._client]

        def take(batch: list[Received]) -> Wait | None:
            if len(batch) == 1:
                handle(batch[0])
            else:
                self._handle_together(batch, handle)
            for target in targets:
                if target.is_full:
                    return partial(_drain, targets)
            return None

        await source.deliver(take, abandon_at_end=abandon_at_end)

    def _handle_together(self, batch: list[Received], handle: Callable[[Received], None]) -> None:
        """Handle several frames, and write what follows from them to each stream at once."""
        for stream in self._streams:
            stream.hold()
        try:
            for frame in batch:
                handle(frame)
        finally:
            for stream in self._streams:
                with suppress(StreamClosed):
                    stream.release()

    def next_id(self) -> str:
        self._made_ids += 1
        return f"portico-{self._mark}-{self._made_ids}"

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._start(work, name)

    async def _until_initialize(self) -> list[Received] | None:
        """Read up to `initialize`, build the chain, and return what has been read from there; None at the end."""
        while batch := await self._client.receive() or self._client.take_unfinished():
            for index, frame in enumerate(batch):
                message = self._checked("client", self._client, frame)
                if message is None:
                    continue
                hello = self._greeted(message)
                if hello.method == INITIALIZE and hello.is_request:
                    try:
                        await self._build(hello.params)
                    except RpcError as error:
                        self._refuse(message, error)
                        continue
                    return [hello, *batch[index + 1 :]]
                if message.is_request:
                    early = RpcError(INVALID_REQUEST, f"{message.method} came before initialize")
                    self._refuse(message, early)
        return None

    def _refuse(self, message: Message, error: RpcError) -> None:
        """Answer a request that cannot be sent along."""
        if self._observer is not None:
            self._observer.passed(message, _CLIENT, None)
        self._answer("client", self._client, failure(message.id, error))  # type: ignore[arg-type]

    def _answer(self, side: ChainSide, stream: FrameStream, answer: Message) -> None:
        """Answer on behalf of the conductor."""
        if self._observer is not None:
            self._observer.passed(answer, None, _CLIENT if side == "client" else self._agent_link)
        _write(stream, answer)

    def _greeted(self, message: Message) -> Message:
        """The message as the proxies see it; `initialize` also decides whether the chain is itself a proxy."""
        if self._assemble_proxy is not None and message.is_request:
            message, self._successor = read_greeting(message)
        return message

    async def _build(self, params: Raw) -> None:
        as_proxy = None if self._successor is None else self._assemble_proxy
        assembly = await (as_proxy or self._assemble)(params)
        if self._successor is not None:
            self._requests.share_ids()
        self._agent = self._client if assembly.agent is None else as_frames(assembly.agent)
        self._exit_error = assembly.exit_error
        self._start_limit = assembly.start_limit
        self._nodes = assembly.nodes
        self._places = {id(node): place for place, node in enumerate(assembly.nodes)}
        for node in assembly.nodes:
            node.join(self)
        self._streams = [self._client, *(node.frames for node in assembly.nodes if node.frames is not None)]
        if self._agent is not self._client:
            self._streams.append(self._agent)
        if self._observer is not None:
            self._observer.opened([node.name for node in assembly.nodes])

    async def _read_client(self, early: list[Received]) -> None:
        handle = partial(self._take, "client", self._client)
        for frame in early:
            handle(frame)
        await self.read(self._client, handle, abandon_at_end=True)
        if self._successor is None:
            # A response without its newline may have been cut off, so it grants nothing.
            for frame in self._client.take_unfinished():
                if isinstance(frame, Message) and frame.is_request:
                    handle(frame)
            await self._answer_the_rest()

    async def _answer_the_rest(self) -> None:
        """The client closed its end: its requests are still answered while it listens; requests to it are refused."""
        self._client_is_silent = True
        for request_id in self._requests.unanswered_by_client:
            self._take("client", self._client, failure(request_id, _SILENT))
        if not self._requests.asked_by_client:
            return
        self._all_answered.clear()
        waiting = [
            asyncio.ensure_future(self._client.closed()),
            asyncio.ensure_future(self._all_answered.wait()),
        ]
        try:
            await asyncio.wait(waiting, timeout=FINISH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    async def _read_agent(self, agent: FrameStream) -> None:
        handle = partial(self._take, "agent", agent)
        await self.read(agent, handle)
        # An agent that exits may leave out its last newline; if it died in the middle of a message, that is dropped.
        for frame in agent.take_unfinished():
            if isinstance(frame, Message):
                handle(frame)

    def _checked(self, side: ChainSide, stream: FrameStream, frame: Received) -> Message | None:
        """The message in a frame. A malformed request is refused; a malformed response becomes an error."""
        if not isinstance(frame, MalformedLine):
            return frame
        self._on_fault(side, frame.fault)
        if not isinstance(frame.request_id, UnsetType):
            refusal = RpcError(INVALID_REQUEST, frame.fault.detail)
            self._answer(side, stream, failure(frame.request_id, refusal))
        return frame.response

    @property
    def _agent_link(self) -> int:
        return len(self._nodes) + 1

    def _on_fault(self, side: ChainSide, fault: Fault) -> None:
        if self._observer is not None:
            self._observer.fault(side, fault)
        self._report_fault(side, fault)

    async def _wait_for_start(self, hello: Received, limit: StartLimit) -> None:
        """Ends, and the chain with it, if `initialize` is not answered in time."""
        await limit.over()
        asked = isinstance(hello, Message) and hello.id in self._requests.asked_by_client
        if asked and (error := limit.overdue()) is not None:
            await self._refuse_all(error)
        else:
            await asyncio.get_running_loop().create_future()

    def _take(self, side: ChainSide, stream: FrameStream, frame: Received) -> None:
        """Pass on a frame of one end. A request that fails here is refused, and the chain continues."""
        message = self._checked(side, stream, frame)
        if message is None:
            return
        try:
            (self._from_agent if side == "agent" else self._from_client)(message)
        except Exception as error:  # top level of a received message: none of them ends the chain
            log.exception("a message of the %s could not be handled", side)
            if message.is_request:
                refusal = RpcError(
                    INTERNAL_ERROR, f"the request could not be handled: {type(error).__name__}"
                )
                _write(stream, failure(message.id, refusal))  # type: ignore[arg-type]

    def _from_client(self, message: Message) -> None:
        if self._successor is not None:
            self._from_conductor(message, self._successor)
        elif self._requests.may_enter("client", message):
            self._send_right(0, message)

    def _from_conductor(self, message: Message, successor: Successor) -> None:
        """Handle a message of the conductor whose proxy this chain is: from the client, or on behalf of the agent."""
        try:
            heard = successor.heard(message)
        except RpcError as error:
            if message.is_request:
                self._refuse(message, error)
            return
        if heard is not None:
            self._from_agent(heard)
        elif self._requests.may_enter("client", message):
            self._send_right(0, message)

    def _from_agent(self, message: Message) -> None:
        if message.method == INITIALIZE and message.is_request:
            # Late: the types of the protocol take a while to load.
            from portico.acp.extensions import not_an_agent

            message = failure(message.id, not_an_agent())  # type: ignore[arg-type]
        if self._requests.may_enter("agent", message):
            self._send_left(len(self._nodes) - 1, message)

    def _to_client(self, message: Message) -> None:
        if not self._requests.may_leave("client", message):
            return
        if self._client_is_silent and message.is_request:
            self._take("client", self._client, failure(message.id, _SILENT))  # type: ignore[arg-type]
            return
        _write(self._client, message)
        if not self._requests.asked_by_client:
            self._all_answered.set()

    def _to_agent(self, agent: FrameStream, message: Message) -> None:
        if self._requests.may_leave("agent", message):
            _write(agent, message if self._successor is None else self._successor.sent(message))

    async def _report_exit(self) -> None:
        if self._exit_error is not None and self._requests.asked_by_client:
            await self._refuse_all(await self._exit_error())

    async def _refuse_all(self, error: RpcError) -> None:
        """Answer all open requests of the client with an error, before the chain ends."""
        waiting = self._requests.asked_by_client
        while waiting:
            self._answer("client", self._client, failure(waiting.pop(), error))
        with suppress(StreamClosed):
            await self._client.drain()

    def _send_right(self, place: int, message: Message) -> None:
        nodes = self._nodes
        for index in range(place, len(nodes)):
            node = nodes[index]
            if node.wants_from_client(message):
                if self._observer is not None:
                    self._observer.passed(message, place, index + 1)
                node.receive_from_client(message)
                return
        if self._observer is not None:
            self._observer.passed(message, place, self._agent_link)
        if self._agent is not None:
            self._to_agent(self._agent, message)

    def _send_left(self, place: int, message: Message) -> None:
        nodes = self._nodes
        for index in range(place, -1, -1):
            node = nodes[index]
            if node.wants_from_agent(message):
                if self._observer is not None:
                    self._observer.passed(message, place + 2, index + 1)
                node.receive_from_agent(message)
                return
        if self._observer is not None:
            self._observer.passed(message, place + 2, _CLIENT)
        self._to_client(message)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

    async def _end(self, reading: "list[asyncio.Task[None]]") -> None:
        tasks = [*reading, *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (self._client,) if self._agent is None else (self._agent, self._client):
            # An end that no longer reads must not hold up the others.
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await end.close()


async def _drain(streams: Sequence[FrameStream]) -> None:
    for stream in streams:
        with suppress(StreamClosed):
            await stream.drain()


def _write(stream: FrameStream, message: Message) -> None:
    """Write a message. If the stream is closed, its reader notices."""
    try:
        stream.send(message)
    except StreamClosed:
        log.debug("a message for a side that is gone was dropped")


def _log_fault(side: ChainSide, fault: Fault) -> None:
    log.warning("the %s sent a malformed message (%s): %s", side, fault.kind, fault.detail)
