"""A node of the chain: adapts an in-process proxy, decides what it sees and contains its failures.

Ids pass through unchanged between nodes of one process, so a response finds its way by its id
alone. Ids that a proxy makes up itself are strings that no client or agent uses.
"""

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UnsetType

from portico.conductor.proxy import OnResponse, Proxy
from portico.rpc.frames import FrameStream
from portico.rpc.messages import INTERNAL_ERROR, Message, RequestId, RpcError, failure

if TYPE_CHECKING:
    from portico.conductor.chain import Chain

log = logging.getLogger(__name__)

_UPDATE = "session/update"

Send = Callable[[Message], None]


class ChainNode(Protocol):
    """Anything that can be part of a chain."""

    name: str

    @property
    def frames(self) -> FrameStream | None:
        """The stream of a node that is a program; None for one in this process."""
        ...

    def join(self, chain: "Chain") -> None: ...

    def wants_from_client(self, message: Message) -> bool: ...

    def wants_from_agent(self, message: Message) -> bool: ...

    def receive_from_client(self, message: Message) -> None:
        """A message from the client's side."""
        ...

    def receive_from_agent(self, message: Message) -> None:
        """A message from the agent's side."""
        ...

    async def run(self) -> None:
        """Read from the program, if the node is one, until it ends or the chain cancels this."""
        ...


class NodeChain(Protocol):
    """The part of a chain that a proxy's node uses."""

    def send_right_of(self, node: Any, message: Message) -> None: ...

    def send_left_of(self, node: Any, message: Message) -> None: ...

    def next_id(self) -> str: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None: ...


class ProxyNode:
    """A proxy inside this process."""

    frames = None

    def __init__(self, proxy: Proxy) -> None:
        self.name = proxy.name
        self._proxy = proxy
        self._update_kinds = tuple(kind.encode() for kind in proxy.update_kinds)
        self._from_left: dict[RequestId, OnResponse] = {}
        self._from_right: dict[RequestId, OnResponse] = {}
        self._chain: NodeChain | None = None

    def join(self, chain: NodeChain) -> None:
        self._chain = chain
        self._proxy.join_chain(self)

    @property
    def chain(self) -> NodeChain:
        if self._chain is None:
            raise RuntimeError(f"{self.name} is not part of a chain")
        return self._chain

    def wants_from_client(self, message: Message) -> bool:
        if message.method is None:
            return message.id in self._from_left
        return message.method in self._proxy.client_methods

    def wants_from_agent(self, message: Message) -> bool:
        method = message.method
        if method is None:
            return message.id in self._from_right
        if method not in self._proxy.agent_methods:
            return False
        if method != _UPDATE or not self._update_kinds:
            return True
        line = message.line
        # A loop, not a generator: every update of a turn is asked about here.
        for kind in self._update_kinds:  # noqa: SIM110
            if kind in line:
                return True
        return False

    def receive_from_client(self, message: Message) -> None:
        try:
            if message.method is None:
                self._from_left.pop(message.id)(message)  # type: ignore[arg-type]
            else:
                self._proxy.from_client(message)
        except Exception as error:  # top level of a proxy's hook: the chain continues without it
            log.exception("the proxy %s failed", self.name)
            self._contain(error, message, onward=self.send_right, back=self.send_left)

    def receive_from_agent(self, message: Message) -> None:
        try:
            if message.method is None:
                self._from_right.pop(message.id)(message)  # type: ignore[arg-type]
            else:
                self._proxy.from_agent(message)
        except Exception as error:  # top level of a proxy's hook: the chain continues without it
            log.exception("the proxy %s failed", self.name)
            self._contain(error, message, onward=self.send_left, back=self.send_right)

    async def run(self) -> None:
        return

    def send_left(self, message: Message) -> None:
        self.chain.send_left_of(self, message)

    def send_right(self, message: Message) -> None:
        self.chain.send_right_of(self, message)

    def await_left(self, request_id: RequestId, then: OnResponse) -> None:
        """Call `then` with the response that comes from the left for this request, instead of passing it on."""
        self._from_left[request_id] = then

    def await_right(self, request_id: RequestId, then: OnResponse) -> None:
        self._from_right[request_id] = then

    def next_id(self) -> str:
        return self.chain.next_id()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self.chain.spawn(work, f"{self.name}: {name}")

    def _contain(self, error: Exception, message: Message, *, onward: Send, back: Send) -> None:
        """Handle a failure of the proxy: a request is refused in its name; other messages go on."""
        if message.method is not None and not isinstance(message.id, UnsetType):
            what = f"the proxy {self.name} failed: {type(error).__name__}"
            back(failure(message.id, RpcError(INTERNAL_ERROR, what)))
        else:
            onward(message)
