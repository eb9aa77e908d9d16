"""Base class of proxies that run inside the conductor.

A proxy names the methods it wants to see; everything else passes it by as bytes. What it sees, it
lets go on, changes, answers or holds. Its hooks are plain functions, so they keep the order; work
that has to wait is started with `spawn` and belongs to the chain.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Protocol

from msgspec import Raw, UnsetType

from portico.conductor.message import Message, failure, notification, outcome, request, response
from portico.rpc.messages import RequestId, RpcError

OnResponse = Callable[[Message], None]


class ProxyContext(Protocol):
    """Where a proxy stands: what it can do to the left (the client) and to the right (the agent)."""

    def send_left(self, message: Message) -> None: ...

    def send_right(self, message: Message) -> None: ...

    def await_left(self, request_id: RequestId, then: OnResponse) -> None:
        """Call `then` with the response that comes from the left for this request, and let it go no further."""
        ...

    def await_right(self, request_id: RequestId, then: OnResponse) -> None: ...

    def next_id(self) -> str: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None: ...


class Proxy:
    """Override `from_client` or `from_agent` for the methods named in `client_methods`, `agent_methods`."""

    name: ClassVar[str]
    client_methods: frozenset[str] = frozenset()
    agent_methods: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._place: ProxyContext | None = None

    def join_chain(self, place: ProxyContext) -> None:
        """Called once, by the chain, before the first message."""
        self._place = place

    @property
    def place(self) -> ProxyContext:
        if self._place is None:
            raise RuntimeError(f"the proxy {self.name} is not part of a chain")
        return self._place

    def from_client(self, message: Message) -> None:
        """A request or notification of `client_methods` on its way to the agent."""
        self.place.send_right(message)

    def from_agent(self, message: Message) -> None:
        """A request or notification of `agent_methods` on its way to the client."""
        self.place.send_left(message)

    def forward_right(self, message: Message, then: OnResponse | None = None) -> None:
        """Let a message go on to the agent; `then` sees its response instead of the client."""
        if then is not None and not isinstance(message.id, UnsetType):
            self.place.await_right(message.id, then)
        self.place.send_right(message)

    def forward_left(self, message: Message, then: OnResponse | None = None) -> None:
        if then is not None and not isinstance(message.id, UnsetType):
            self.place.await_left(message.id, then)
        self.place.send_left(message)

    def answer_client(self, message: Message, result: Any) -> None:
        if not isinstance(message.id, UnsetType):
            self.place.send_left(response(message.id, result))

    def refuse_client(self, message: Message, error: RpcError) -> None:
        if not isinstance(message.id, UnsetType):
            self.place.send_left(failure(message.id, error))

    def answer_agent(self, message: Message, result: Any) -> None:
        if not isinstance(message.id, UnsetType):
            self.place.send_right(response(message.id, result))

    def refuse_agent(self, message: Message, error: RpcError) -> None:
        if not isinstance(message.id, UnsetType):
            self.place.send_right(failure(message.id, error))

    def tell_client(self, method: str, params: Any) -> None:
        self.place.send_left(notification(method, params))

    def tell_agent(self, method: str, params: Any) -> None:
        self.place.send_right(notification(method, params))

    async def ask_client(self, method: str, params: Any) -> Raw:
        """Call the client, as if the agent had. RpcError for an error answer."""
        return await self._ask(self.place.await_left, self.place.send_left, method, params)

    async def ask_agent(self, method: str, params: Any) -> Raw:
        """Call the agent, as if the client had."""
        return await self._ask(self.place.await_right, self.place.send_right, method, params)

    async def _ask(
        self,
        await_response: Callable[[RequestId, OnResponse], None],
        send: Callable[[Message], None],
        method: str,
        params: Any,
    ) -> Raw:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        request_id = self.place.next_id()
        await_response(request_id, lambda message: None if answer.done() else answer.set_result(message))
        send(request(request_id, method, params))
        return outcome(await answer)
