"""The right side of a bridge: one stand-in, with JSON-RPC on its stream as an MCP server speaks it.

Answers and notifications leave in the order in which they were made. An agent that does not read loses
notifications first; answers wait for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
from msgspec import Raw, UnsetType

from portico.conductor.mcp.conversation import Conversation
from portico.conductor.mcp.dialects import BACKEND_FAILED, RESOURCE_LIMIT, SERVER_UNAVAILABLE
from portico.conductor.mcp.protocol import CANCELLED
from portico.conductor.mcp.provider import AgentSide, Outcome
from portico.rpc.framing import LineSplitter, Overlong
from portico.rpc.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorObject,
    Fault,
    Frame,
    RequestId,
    RpcError,
    decode_frame,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from portico.rpc.streams import ByteStream, StreamClosed

log = logging.getLogger(__name__)

MOST_ACTIVE = 64
_QUEUE = 256

Open = Callable[[AgentSide, str, Raw | None], Awaitable[Conversation]]
"""Begins the conversation with the agent's first request."""


class _Cancelled(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


class Link:
    def __init__(self, stream: ByteStream, open_conversation: Open) -> None:
        self._stream = stream
        self._open = open_conversation
        self._opening = asyncio.Lock()
        self._conversation: Conversation | None = None
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._asked: dict[RequestId, Callable[[Outcome], None]] = {}
        self._made_ids = 0
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue(_QUEUE)

    async def run(self) -> None:
        """Until the stand-in is gone; then whatever it had asked for is cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(), name="writing to an MCP stand-in")
                await self._read(tasks)
                for task in [writing, *self._requests.values()]:
                    task.cancel()
        finally:
            for reply in self._asked.values():
                reply(RpcError(SERVER_UNAVAILABLE, "the agent has closed the connection"))
            if self._conversation is not None:
                self._conversation.close()

    def notify(self, method: str, params: Raw | None) -> None:
        try:
            self._outgoing.put_nowait(encode_notification(method, {} if params is None else params))
        except asyncio.QueueFull:
            log.warning("an agent does not read what an MCP server tells it; %s was left out", method)

    def ask(self, method: str, params: Raw | None, reply: Callable[[Outcome], None]) -> None:
        self._made_ids += 1
        request_id = f"server-{self._made_ids}"
        try:
            self._outgoing.put_nowait(encode_request(request_id, method, {} if params is None else params))
        except asyncio.QueueFull:
            reply(RpcError(RESOURCE_LIMIT, "the agent does not read what it is asked"))
        else:
            self._asked[request_id] = reply

    async def _read(self, tasks: asyncio.TaskGroup) -> None:
        splitter = LineSplitter()
        while chunk := await self._stream.read():
            for line in splitter.feed(chunk):
                if isinstance(line, Overlong):
                    await self._refuse(None, PARSE_ERROR, f"a line of {line.size} bytes is too long")
                elif line.strip():
                    await self._receive(tasks, decode_frame(line))

    async def _receive(self, tasks: asyncio.TaskGroup, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            code = INVALID_REQUEST if frame.kind == "not_a_message" else PARSE_ERROR
            await self._refuse(None, code, frame.detail)
            return
        params = frame.params if isinstance(frame.params, Raw) else None
        if isinstance(frame.method, UnsetType):
            self._take_answer(frame)
        elif isinstance(frame.id, UnsetType):
            self._take_notification(frame.method, params)
        elif frame.id in self._requests:
            await self._refuse(frame.id, INVALID_REQUEST, "a request with this id is still being answered")
        elif len(self._requests) >= MOST_ACTIVE:
            await self._refuse(frame.id, RESOURCE_LIMIT, f"more than {MOST_ACTIVE} requests at a time")
        else:
            work = self._answer(frame.id, frame.method, params)
            self._requests[frame.id] = tasks.create_task(work, name=f"MCP request {frame.method}")

    def _take_notification(self, method: str, params: Raw | None) -> None:
        if method == CANCELLED:
            with suppress(msgspec.DecodeError):
                named = msgspec.json.decode(params or b"{}", type=_Cancelled).request_id
                if (task := self._requests.pop(named, None)) is not None:
                    task.cancel()
        elif self._conversation is not None:
            self._conversation.notification(method, params)

    def _take_answer(self, frame: Frame) -> None:
        reply = None if isinstance(frame.id, UnsetType) else self._asked.pop(frame.id, None)
        if reply is None:
            log.warning("an agent answered an MCP request that nobody made")
        elif isinstance(frame.error, ErrorObject):
            reply(RpcError(frame.error.code, frame.error.message, frame.error.data))
        else:
            reply(frame.result if isinstance(frame.result, Raw) else Raw(b"null"))

    async def _answer(self, request_id: RequestId, method: str, params: Raw | None) -> None:
        try:
            conversation = await self._begun(method, params)
            line = encode_result(request_id, await conversation.request(request_id, method, params))
        except RpcError as error:
            line = encode_error(request_id, error)
        except Exception:  # top level of a request: the agent is told, and the link goes on
            log.exception("an MCP request failed in the bridge")
            line = encode_error(request_id, RpcError(BACKEND_FAILED, "the bridge to this MCP server failed"))
        finally:
            if self._requests.get(request_id) is asyncio.current_task():
                del self._requests[request_id]
        await self._outgoing.put(line)

    async def _begun(self, method: str, params: Raw | None) -> Conversation:
        async with self._opening:
            if self._conversation is None:
                self._conversation = await self._open(self, method, params)
            return self._conversation

    async def _write(self) -> None:
        while True:
            line = await self._outgoing.get()
            # What can no longer be written is let go, so that nobody waits for room in the queue.
            with suppress(StreamClosed):
                self._stream.write(line)
                await self._stream.drain()

    async def _refuse(self, request_id: RequestId, code: int, words: str) -> None:
        await self._outgoing.put(encode_error(request_id, RpcError(code, words)))
