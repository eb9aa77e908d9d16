"""The server side of one MCP connection, independent of its transport.

A client that does not read loses notifications first; responses wait for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from msgspec import UNSET, Raw, UnsetType

from portico.mcp.protocol import BACKEND_FAILED, CANCELLED, RESOURCE_LIMIT, SERVER_UNAVAILABLE
from portico.rpc.messages import (
    INVALID_REQUEST,
    NO_PARAMS,
    ErrorObject,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
    encode_notification,
    encode_request,
    outcome,
)

log = logging.getLogger(__name__)

MOST_ACTIVE = 64

McpOutcome = Raw | RpcError
OnNotification = Callable[[str, Raw | None], None]


class ServerBackend(Protocol):
    """Answers the requests of one connection."""

    async def request(
        self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
    ) -> Raw:
        """The result; `notify` takes notifications that come before it. RpcError for an error of any kind."""
        ...

    def notification(self, method: str, params: Raw | None) -> None: ...

    def close(self) -> None: ...


OpenBackend = Callable[["McpServerConnection", str, Raw | None], Awaitable[ServerBackend]]
"""Opens the backend of a connection, given its first request."""


class ResponseSink(Protocol):
    """Sends messages to the client."""

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        """Send a response, waiting for room."""
        ...

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        """Send a notification or request, which may belong to a request of the client. False without room."""
        ...


class McpServerConnection:
    """Owns the tasks that answer requests; `close` ends them."""

    def __init__(self, sink: ResponseSink, open_backend: OpenBackend) -> None:
        self._sink = sink
        self._open = open_backend
        self._opening = asyncio.Lock()
        self._backend: ServerBackend | None = None
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[RequestId, Callable[[McpOutcome], None]] = {}
        self._made_ids = 0

    async def receive(self, message: Message) -> None:
        """Handle one message of the client."""
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
        """The client is gone: cancel its requests, and fail those that were sent to it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for reply in self._asked.values():
            reply(RpcError(SERVER_UNAVAILABLE, "the client has closed the connection"))
        self._asked.clear()
        if self._backend is not None:
            self._backend.close()

    def notify(self, method: str, params: Raw | None) -> None:
        self._notify(UNSET, method, params)

    def ask(self, method: str, params: Raw | None, reply: Callable[[McpOutcome], None]) -> None:
        if len(self._asked) >= MOST_ACTIVE:
            reply(RpcError(RESOURCE_LIMIT, f"the client has {MOST_ACTIVE} requests to answer already"))
            return
        self._made_ids += 1
        request_id = f"server-{self._made_ids}"
        if self._sink.tell(encode_request(request_id, method, {} if params is None else params), UNSET):
            self._asked[request_id] = reply
        else:
            reply(RpcError(RESOURCE_LIMIT, "the client does not read requests"))

    def _notify(self, about: RequestId | UnsetType, method: str, params: Raw | None) -> None:
        if not self._sink.tell(encode_notification(method, {} if params is None else params), about):
            log.warning("an MCP client does not read; the notification %s was dropped", method)

    def _take_notification(self, method: str, params: Raw | None) -> None:
        if method == CANCELLED:
            named = cancelled_request_id(params or NO_PARAMS)
            if not isinstance(named, UnsetType) and (task := self._requests.pop(named, None)) is not None:
                task.cancel()
        elif self._backend is not None:
            self._backend.notification(method, params)

    def _take_response(self, message: Message) -> None:
        reply = None if isinstance(message.id, UnsetType) else self._asked.pop(message.id, None)
        if reply is None:
            log.warning("an MCP client answered an unknown request")
        elif isinstance(message.error, ErrorObject):
            reply(RpcError(message.error.code, message.error.message, message.error.data))
        else:
            reply(outcome(message))

    async def _answer(self, request_id: RequestId, method: str, params: Raw | None) -> None:
        answer: McpOutcome
        try:
            backend = await self._opened(method, params)
            notify = partial(self._notify, request_id)
            answer = await backend.request(request_id, method, params, notify)
        except RpcError as error:
            answer = error
        except Exception:  # top level of a request: the client gets an error, and the connection continues
            log.exception("an MCP request failed")
            answer = RpcError(BACKEND_FAILED, "the bridge to this MCP server failed")
        finally:
            if self._requests.get(request_id) is asyncio.current_task():
                del self._requests[request_id]
        await self._sink.answer(request_id, answer)

    async def _opened(self, method: str, params: Raw | None) -> ServerBackend:
        async with self._opening:
            if self._backend is None:
                self._backend = await self._open(self, method, params)
            return self._backend

    async def _refuse(self, request_id: RequestId, code: int, reason: str) -> None:
        await self._sink.answer(request_id, RpcError(code, reason))
