"""The chain from client to agent: reads both ends and passes every message along its nodes, in order.

The chain is built when the client says `initialize`, because what stands in it depends on what the
client offers. From then on each end is read in order, each message is handled to completion before
the next one of that end, and a side that does not keep up holds the other back.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Raw, UnsetType

from portico.conductor.assembly import Assemble, StartLimit
from portico.conductor.message import Message, failure, from_frame, last_message
from portico.conductor.node import ChainNode
from portico.conductor.observer import ChainObserver, ChainSide, ClosedBy
from portico.conductor.open_requests import OpenRequests
from portico.conductor.successor import INITIALIZE, Successor, read_greeting
from portico.rpc.connection import FINISH_SECONDS
from portico.rpc.framing import LineSplitter
from portico.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Fault,
    RpcError,
    decode_frame,
    malformed_request_id,
    malformed_response_error,
    malformed_response_id,
)
from portico.rpc.streams import ByteStream, StreamClosed

log = logging.getLogger(__name__)

_CLOSING_SECONDS = 1.0
_CLIENT = 0
_SILENT = RpcError(INTERNAL_ERROR, "the client has closed its end, so it cannot be asked")


OnFault = Callable[[ChainSide, Fault], None]


class Chain:
    """Runs once: from the client's first message until either end is gone.

    With `assemble_proxy` it can be a proxy of another chain, if that is what its first message says.
    """

    def __init__(
        self,
        client: ByteStream,
        assemble: Assemble,
        *,
        assemble_proxy: Assemble | None = None,
        on_fault: OnFault | None = None,
        watch: ChainObserver | None = None,
    ) -> None:
        self._client = client
        self._assemble = assemble
        self._assemble_proxy = assemble_proxy
        self._tell_fault = on_fault or _log_fault
        self._watch = watch
        self._agent: ByteStream | None = None
        self._successor: Successor | None = None
        self._nodes: Sequence[ChainNode] = ()
        self._places: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._made_ids = 0
        self._mark = os.urandom(4).hex()
        self._farewell: Callable[[], Awaitable[RpcError]] | None = None
        self._start_limit: StartLimit | None = None
        self._requests = OpenRequests(self._on_fault)
        self._client_is_silent = False
        self._all_answered = asyncio.Event()

    async def run(self) -> None:
        """Carry messages until one end is gone; then every task of the chain is over."""
        splitter = LineSplitter()
        early = await self._until_initialize(splitter)
        if early is None or self._agent is None:
            return
        reading = [
            asyncio.create_task(
                self._read_client(self._agent, splitter, early), name="reading from the client"
            ),
        ]
        if self._successor is None:
            reading.append(asyncio.create_task(self._read_agent(self._agent), name="reading from the agent"))
        if self._start_limit is not None:
            work = self._wait_for_start(early[0], self._start_limit)
            reading.append(asyncio.create_task(work, name="waiting for the answer to initialize"))
        self._tasks |= {asyncio.create_task(one.run(), name=f"proxy {one.name}") for one in self._nodes}
        gone: ClosedBy = "conductor"
        try:
            done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            gone = "client" if done == {reading[0]} else "agent"
            if gone == "agent":
                await self._say_farewell()
        finally:
            await self._end(reading)
            if self._watch is not None:
                self._watch.closed(gone)

    def send_right_of(self, node: ChainNode, message: Message) -> None:
        self._send_right(self._places[id(node)] + 1, message)

    def send_left_of(self, node: ChainNode, message: Message) -> None:
        self._send_left(self._places[id(node)] - 1, message)

    async def drain_others(self, node: ChainNode) -> None:
        ends = (self._client,) if self._agent is None else (self._client, self._agent)
        await self._keep_pace(*ends, besides=node)

    def next_id(self) -> str:
        self._made_ids += 1
        return f"portico-{self._mark}-{self._made_ids}"

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._start(work, name)

    async def _until_initialize(self, splitter: LineSplitter) -> list[Message] | None:
        """Read up to `initialize`, build the chain, and return what is already read; None at the end."""
        while chunk := await self._client.read() or (b"\n" if splitter.pending else b""):
            messages = self._messages("client", self._client, splitter, chunk)
            for place, message in enumerate(messages):
                hello = self._greeted(message)
                if hello.method == INITIALIZE and hello.is_request:
                    try:
                        await self._build(hello.params)
                    except RpcError as error:
                        self._refuse(message, error)
                        continue
                    return [hello, *messages[place + 1 :]]
                if message.is_request:
                    self._refuse(
                        message, RpcError(INVALID_REQUEST, f"{message.method} came before initialize")
                    )
        return None

    def _refuse(self, message: Message, error: RpcError) -> None:
        """Answer a request that cannot be sent along."""
        if self._watch is not None:
            self._watch.passed(message, _CLIENT, None)
        self._answer("client", self._client, failure(message.id, error))  # type: ignore[arg-type]

    def _answer(self, side: ChainSide, stream: ByteStream, answer: Message) -> None:
        """Answer in the conductor's own name."""
        if self._watch is not None:
            self._watch.passed(answer, None, _CLIENT if side == "client" else self._agent_link)
        _write(stream, answer)

    def _greeted(self, message: Message) -> Message:
        """The message as the proxies are to see it; `initialize` also says whether the chain is one of them."""
        if self._assemble_proxy is not None and message.is_request:
            message, self._successor = read_greeting(message)
        return message

    async def _build(self, params: Raw) -> None:
        as_proxy = None if self._successor is None else self._assemble_proxy
        assembly = await (as_proxy or self._assemble)(params)
        if self._successor is not None:
            self._requests.share_ids()
        self._agent = assembly.agent or self._client
        self._farewell = assembly.exit_error
        self._start_limit = assembly.start_limit
        self._nodes = assembly.nodes
        self._places = {id(node): place for place, node in enumerate(assembly.nodes)}
        for node in assembly.nodes:
            node.join(self)
        if self._watch is not None:
            self._watch.opened([node.name for node in assembly.nodes])

    async def _read_client(self, agent: ByteStream, splitter: LineSplitter, early: list[Message]) -> None:
        for message in early:
            self._take("client", self._client, message)
        chunk = await self._client.read()
        while chunk:
            for message in self._messages("client", self._client, splitter, chunk):
                self._take("client", self._client, message)
            chunk = await self._read_ahead(agent)
        if self._successor is None:
            # An answer without its newline may have been cut: it grants nothing.
            if (last := last_message(splitter)) is not None and last.is_request:
                self._take("client", self._client, last)
            await self._answer_the_rest()

    async def _answer_the_rest(self) -> None:
        """The client says nothing more: what it asked is answered for as long as it listens, what it is asked is not."""
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

    async def _read_ahead(self, agent: ByteStream) -> bytes:
        """The client's next words, once the others kept up. Its end is noticed even if they never do."""
        pacing = self._start(self._keep_pace(agent), "waiting for the agent's side")
        try:
            chunk = await self._client.read()
            if chunk:
                await pacing
            return chunk
        finally:
            pacing.cancel()

    async def _read_agent(self, agent: ByteStream) -> None:
        splitter = LineSplitter()
        while chunk := await agent.read():
            for message in self._messages("agent", agent, splitter, chunk):
                self._take("agent", agent, message)
            await self._keep_pace(self._client)
        # An agent that ends may owe the newline of its last words; if it died in the middle of them they are none.
        if (last := last_message(splitter)) is not None:
            self._take("agent", agent, last)

    async def _keep_pace(self, *ends: ByteStream, besides: ChainNode | None = None) -> None:
        for node in self._nodes:
            if node is not besides:
                await node.drain()
        for end in ends:
            with suppress(StreamClosed):
                await end.drain()

    def _messages(
        self, side: ChainSide, stream: ByteStream, splitter: LineSplitter, chunk: bytes
    ) -> list[Message]:
        messages = []
        for line in splitter.feed(chunk):
            if isinstance(line, bytes) and not line.strip():
                continue
            frame = decode_frame(line)
            if isinstance(frame, Fault):
                self._on_fault(side, frame)
                if not isinstance(request_id := malformed_request_id(line), UnsetType):
                    self._answer(side, stream, failure(request_id, RpcError(INVALID_REQUEST, frame.detail)))
                elif not isinstance(answered := malformed_response_id(line), UnsetType):
                    messages.append(failure(answered, malformed_response_error(frame)))
            elif isinstance(line, bytes):
                messages.append(from_frame(frame, line))
        return messages

    @property
    def _agent_link(self) -> int:
        return len(self._nodes) + 1

    def _on_fault(self, side: ChainSide, fault: Fault) -> None:
        if self._watch is not None:
            self._watch.fault(side, fault)
        self._tell_fault(side, fault)

    async def _wait_for_start(self, hello: Message, limit: StartLimit) -> None:
        """Ends, and the chain with it, if `initialize` is not answered in time."""
        await limit.over()
        if hello.id in self._requests.asked_by_client and (error := limit.overdue()) is not None:
            await self._refuse_all(error)
        else:
            await asyncio.get_running_loop().create_future()

    def _take(self, side: ChainSide, stream: ByteStream, message: Message) -> None:
        """Send a message of one end along. A request that fails here is refused, and the chain goes on."""
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
        """Take a message of the conductor whose proxy this chain is: of the client, or in the agent's name."""
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

    def _to_agent(self, agent: ByteStream, message: Message) -> None:
        if self._requests.may_leave("agent", message):
            _write(agent, message if self._successor is None else self._successor.sent(message))

    async def _say_farewell(self) -> None:
        if self._farewell is not None and self._requests.asked_by_client:
            await self._refuse_all(await self._farewell())

    async def _refuse_all(self, error: RpcError) -> None:
        """Answer what the client still waits for, before the chain ends."""
        waiting = self._requests.asked_by_client
        while waiting:
            self._answer("client", self._client, failure(waiting.pop(), error))
        with suppress(StreamClosed):
            await self._client.drain()

    def _send_right(self, place: int, message: Message) -> None:
        for index in range(place, len(self._nodes)):
            if self._nodes[index].wants_from_client(message):
                if self._watch is not None:
                    self._watch.passed(message, place, index + 1)
                self._nodes[index].receive_from_client(message)
                return
        if self._watch is not None:
            self._watch.passed(message, place, self._agent_link)
        if self._agent is not None:
            self._to_agent(self._agent, message)

    def _send_left(self, place: int, message: Message) -> None:
        for index in range(place, -1, -1):
            if self._nodes[index].wants_from_agent(message):
                if self._watch is not None:
                    self._watch.passed(message, place + 2, index + 1)
                self._nodes[index].receive_from_agent(message)
                return
        if self._watch is not None:
            self._watch.passed(message, place + 2, _CLIENT)
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
            # An end that takes nothing in any more cannot hold up the others.
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await end.close()


def _write(stream: ByteStream, message: Message) -> None:
    """Write a message; one that is gone will be seen by its reader."""
    try:
        stream.write(message.line)
    except StreamClosed:
        log.debug("a message for a side that is gone was passed over")


def _log_fault(side: ChainSide, fault: Fault) -> None:
    log.warning("the %s sent something malformed (%s): %s", side, fault.kind, fault.detail)
