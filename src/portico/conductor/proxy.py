"""Base class of proxies that run inside the conductor.

A proxy names the methods it wants to see; everything else passes it by as bytes. What it sees, it
lets go on, changes, answers or holds. Its hooks are plain functions, so they keep the order; work
that has to wait is started with `spawn` and belongs to the chain.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Raw, UnsetType

from portico.rpc.messages import (
    Message,
    RequestId,
    RpcError,
    failure,
    notification,
    outcome,
    request,
    response,
)

if TYPE_CHECKING:
    from portico.conductor.node import ProxyNode

OnResponse = Callable[[Message], None]


class Proxy:
    """Override `from_client` or `from_agent` for the methods named in `client_methods`, `agent_methods`."""

    name: ClassVar[str]
    client_methods: frozenset[str] = frozenset()
    agent_methods: frozenset[str] = frozenset()
    update_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of `session/update` to see, if that is one of `agent_methods`; empty for all.

    An update of another kind that mentions one of these words is seen too. Nearly all updates are text, and one that
    is not seen costs next to nothing.
    """

    def __init__(self) -> None:
        self._node: ProxyNode | None = None

    def join_chain(self, node: "ProxyNode") -> None:
        """Called once, by the chain, before the first message."""
        self._node = node

    @property
    def node(self) -> "ProxyNode":
        """This proxy's node in the chain: sends to the left (the client) and to the right (the agent)."""
        if self._node is None:
            raise RuntimeError(f"the proxy {self.name} is not part of a chain")
        return self._node

    def from_client(self, message: Message) -> None:
        """A request or notification of `client_methods` on its way to the agent."""
        self.node.send_right(message)

    def from_agent(self, message: Message) -> None:
        """A request or notification of `agent_methods` on its way to the client."""
        self.node.send_left(message)

    def forward_right(self, message: Message, then: OnResponse | None = None) -> None:
        """Let a message go on to the agent; `then` sees its response instead of the client."""
        if then is not None and not isinstance(message.id, UnsetType):
            self.node.await_right(message.id, then)
        self.node.send_right(message)

    def forward_left(self, message: Message, then: OnResponse | None = None) -> None:
        if then is not None and not isinstance(message.id, UnsetType):
            self.node.await_left(message.id, then)
        self.node.send_left(message)

    def answer_client(self, message: Message, result: Any) -> None:
        if not isinstance(message.id, UnsetType):
            self.node.send_left(response(message.id, result))

    def refuse_client(self, message: Message, error: RpcError) -> None:
        if not isinstance(message.id, UnsetType):
            self.node.send_left(failure(message.id, error))

    def answer_agent(self, message: Message, result: Any) -> None:
        if not isinstance(message.id, UnsetType):
            self.node.send_right(response(message.id, result))

    def refuse_agent(self, message: Message, error: RpcError) -> None:
        if not isinstance(message.id, UnsetType):
            self.node.send_right(failure(message.id, error))

    def tell_client(self, method: str, params: Any) -> None:
        self.node.send_left(notification(method, params))

    def tell_agent(self, method: str, params: Any) -> None:
        self.node.send_right(notification(method, params))

    async def ask_client(self, method: str, params: Any) -> Raw:
        """Call the client, as if the agent had. RpcError for an error answer."""
        return await self._ask(self.node.await_left, self.node.send_left, method, params)

    async def ask_agent(self, method: str, params: Any) -> Raw:
        """Call the agent, as if the client had."""
        return await self._ask(self.node.await_right, self.node.send_right, method, params)

    async def _ask(
        self,
        await_response: Callable[[RequestId, OnResponse], None],
        send: Callable[[Message], None],
        method: str,
        params: Any,
    ) -> Raw:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        request_id = self.node.next_id()
        await_response(request_id, lambda message: None if answer.done() else answer.set_result(message))
        send(request(request_id, method, params))
        return outcome(await answer)
