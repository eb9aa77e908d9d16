"""The server's end of one MCP connection with an agent, independent of its transport.

An agent that does not listen loses notifications first; answers wait for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.conductor.mcp_bridge.mcp_over_acp import BACKEND_FAILED, RESOURCE_LIMIT, SERVER_UNAVAILABLE
from portico.conductor.mcp_bridge.provider import McpAgentPeer, McpOutcome
from portico.conductor.mcp_bridge.provider_connection import ProviderConnection
from portico.domain import codecs
from portico.mcp.protocol import CANCELLED
from portico.rpc.messages import (
    INVALID_REQUEST,
    NO_PARAMS,
    ErrorObject,
    Message,
    RequestId,
    RpcError,
    encode_notification,
    encode_request,
    outcome,
)

log = logging.getLogger(__name__)

MOST_ACTIVE = 64

OpenProvider = Callable[[McpAgentPeer, str, Raw | None], Awaitable[ProviderConnection]]
"""Begins the conversation with the agent's first request."""


class ResponseSink(Protocol):
    """Takes to the agent what is said to it."""

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        """Take an answer; waits for room."""
        ...

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        """Take a notification or a request, which may belong to a request of the agent. False without room."""
        ...


class _Cancelled(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


class McpServerConnection:
    """Owns the tasks that answer requests; `close` ends them."""

    def __init__(self, outlet: ResponseSink, open_conversation: OpenProvider) -> None:
        self._outlet = outlet
        self._open = open_conversation
        self._opening = asyncio.Lock()
        self._conversation: ProviderConnection | None = None
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[RequestId, Callable[[McpOutcome], None]] = {}
        self._made_ids = 0

    async def receive(self, message: Message) -> None:
        """Take one message of the agent."""
        params = None if message.params is NO_PARAMS else message.params
        if message.method is None:
            self._take_response(message)
        elif isinstance(message.id, UnsetType):
            self._take_notification(message.method, params)
        elif message.id in self._requests:
            await self._refuse(message.id, INVALID_REQUEST, "a request with this id is still being answered")
        elif len(self._requests) >= MOST_ACTIVE:
            await self._refuse(message.id, RESOURCE_LIMIT, f"more than {MOST_ACTIVE} requests at a time")
        else:
            work = self._answer(message.id, message.method, params)
            task = asyncio.create_task(work, name=f"MCP request {message.method}")
            self._requests[message.id] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """The agent is gone: whatever it had asked for is cancelled, and whoever asked it is told."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for reply in self._asked.values():
            reply(RpcError(SERVER_UNAVAILABLE, "the agent has closed the connection"))
        self._asked.clear()
        if self._conversation is not None:
            self._conversation.close()

    def notify(self, method: str, params: Raw | None) -> None:
        self._notify(UNSET, method, params)

    def ask(self, method: str, params: Raw | None, reply: Callable[[McpOutcome], None]) -> None:
        if len(self._asked) >= MOST_ACTIVE:
            reply(RpcError(RESOURCE_LIMIT, f"the agent has {MOST_ACTIVE} requests to answer already"))
            return
        self._made_ids += 1
        request_id = f"server-{self._made_ids}"
        if self._outlet.tell(encode_request(request_id, method, {} if params is None else params), UNSET):
            self._asked[request_id] = reply
        else:
            reply(RpcError(RESOURCE_LIMIT, "the agent does not read what it is asked"))

    def _notify(self, about: RequestId | UnsetType, method: str, params: Raw | None) -> None:
        if not self._outlet.tell(encode_notification(method, {} if params is None else params), about):
            log.warning("an agent does not read what an MCP server tells it; %s was left out", method)

    def _take_notification(self, method: str, params: Raw | None) -> None:
        if method == CANCELLED:
            with suppress(msgspec.DecodeError):
                named = codecs.decode_json(params or b"{}", _Cancelled).request_id
                if (task := self._requests.pop(named, None)) is not None:
                    task.cancel()
        elif self._conversation is not None:
            self._conversation.notification(method, params)

    def _take_response(self, message: Message) -> None:
        reply = None if isinstance(message.id, UnsetType) else self._asked.pop(message.id, None)
        if reply is None:
            log.warning("an agent answered an unknown MCP request")
        elif isinstance(message.error, ErrorObject):
            reply(RpcError(message.error.code, message.error.message, message.error.data))
        else:
            reply(outcome(message))

    async def _answer(self, request_id: RequestId, method: str, params: Raw | None) -> None:
        answer: McpOutcome
        try:
            conversation = await self._begun(method, params)
            told = partial(self._notify, request_id)
            answer = await conversation.request(request_id, method, params, told)
        except RpcError as error:
            answer = error
        except Exception:  # top level of a request: the agent is told, and the link goes on
            log.exception("an MCP request failed in the bridge")
            answer = RpcError(BACKEND_FAILED, "the bridge to this MCP server failed")
        finally:
            if self._requests.get(request_id) is asyncio.current_task():
                del self._requests[request_id]
        await self._outlet.answer(request_id, answer)

    async def _begun(self, method: str, params: Raw | None) -> ProviderConnection:
        async with self._opening:
            if self._conversation is None:
                self._conversation = await self._open(self, method, params)
            return self._conversation

    async def _refuse(self, request_id: RequestId, code: int, words: str) -> None:
        await self._outlet.answer(request_id, RpcError(code, words))
