"""A node for one component, whose proxies are chosen by what the agent has answered to `initialize`.

Until then it holds the component's place in the chain. The proxies are chosen before the first session is opened, so
that the client does not wait for them when it starts. They are shown the client's `initialize` and the agent's answer,
as if they had been there from the beginning, but cannot change these any more. A component that fails or does not
answer in time is left out, and tried again when the next session is opened.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from portico.acp.session_methods import OPENING_METHODS
from portico.conductor.node import ProxyNode
from portico.conductor.proxy import Proxy
from portico.conductor.successor import INITIALIZE
from portico.domain.errors import PorticoError
from portico.rpc.messages import Message, RpcError, outcome

if TYPE_CHECKING:
    from portico.conductor.chain import Chain

log = logging.getLogger(__name__)

START_SECONDS = 10.0
"""Seconds that a component may take to plan its proxies, and they to answer `initialize`."""

PlanProxies = Callable[[Raw, Raw], Awaitable[Sequence[Proxy]]]
"""Chooses the proxies by the parameters of `initialize` and its result."""
ReportProblem = Callable[[str, str | None], None]
"""Takes the name of a node and why it was left out; None when it is back."""


class ComponentNode:
    frames = None

    def __init__(
        self, name: str, plan: PlanProxies, report: ReportProblem, *, seconds: float = START_SECONDS
    ) -> None:
        self.name = name
        self._plan = plan
        self._report = report
        self._seconds = seconds
        self._chain: Chain | None = None
        self._nodes: tuple[ProxyNode, ...] = ()
        self._hello: Message | None = None
        self._agent_answer: Message | None = None
        self._introduction: asyncio.Future[Message] | None = None
        self._is_filled = False
        self._held: list[Message] = []

    def join(self, chain: "Chain") -> None:
        self._chain = chain

    def wants_from_client(self, message: Message) -> bool:
        if message.method == INITIALIZE or (not self._is_filled and message.method in OPENING_METHODS):
            return message.is_request
        return any(node.wants_from_client(message) for node in self._nodes)

    def wants_from_agent(self, message: Message) -> bool:
        if self._agent_answer is None and self._hello is not None and message.method is None:
            return message.id == self._hello.id
        # A loop, not a generator: every update of a turn is asked about here.
        for node in self._nodes:  # noqa: SIM110
            if node.wants_from_agent(message):
                return True
        return False

    def receive_from_client(self, message: Message) -> None:
        if message.method == INITIALIZE:
            self._hello = message
            self._joined_chain().send_right_of(self, message)
        elif not self._is_filled and message.method in OPENING_METHODS:
            self._held.append(message)
            if len(self._held) == 1:
                self.spawn(self._begin(), f"{self.name}: beginning")
        else:
            self._send_right(0, message)

    def receive_from_agent(self, message: Message) -> None:
        if self._agent_answer is None and message.method is None:
            self._agent_answer = message
            self._joined_chain().send_left_of(self, message)
        else:
            self._send_left(len(self._nodes) - 1, message)

    async def run(self) -> None:
        return

    def send_right_of(self, node: ProxyNode, message: Message) -> None:
        if node in self._nodes:  # A proxy that was left out may speak too late.
            self._send_right(self._nodes.index(node) + 1, message)

    def send_left_of(self, node: ProxyNode, message: Message) -> None:
        if node in self._nodes:
            self._send_left(self._nodes.index(node) - 1, message)

    def next_id(self) -> str:
        return self._joined_chain().next_id()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._joined_chain().spawn(work, name)

    async def _begin(self) -> None:
        """Choose the proxies, then open the sessions that have waited for them."""
        if self._hello is not None and self._agent_answer is not None:
            await self._fill(self._hello, self._agent_answer)
        held, self._held = self._held, []
        for opening in held:
            self._send_right(0, opening)

    async def _fill(self, hello: Message, answer: Message) -> None:
        problem: str
        try:
            async with asyncio.timeout(self._seconds):
                await self._introduce(await self._plan(hello.params, outcome(answer)), hello)
        except TimeoutError:
            problem = f"It did not start within {self._seconds:g} s."
        except RpcError as error:
            problem = error.message
        except PorticoError as error:
            problem = f"{error.message} {error.suggestion or ''}".strip()
        except Exception as error:  # top level of a component: the chain continues without it
            log.exception("the component %s failed", self.name)
            problem = f"{type(error).__name__}: {error}"
        else:
            self._is_filled = True
            self._report(self.name, None)
            return
        self._nodes, self._introduction = (), None
        self._report(self.name, problem)

    async def _introduce(self, proxies: Sequence[Proxy], hello: Message) -> None:
        """Let the proxies see `initialize` and the agent's answer. RpcError if one of them refuses."""
        self._nodes = tuple(map(ProxyNode, proxies))
        for node in self._nodes:
            node.join(self)
        self._introduction = asyncio.get_running_loop().create_future()
        self._send_right(0, hello)
        answer = await self._introduction
        self._introduction = None
        outcome(answer)

    def _send_right(self, place: int, message: Message) -> None:
        for node in self._nodes[place:]:
            if node.wants_from_client(message):
                node.receive_from_client(message)
                return
        if self._introduction is not None and message.method == INITIALIZE:
            assert self._agent_answer is not None
            self._send_left(len(self._nodes) - 1, self._agent_answer)
        else:
            self._joined_chain().send_right_of(self, message)

    def _send_left(self, place: int, message: Message) -> None:
        for node in reversed(self._nodes[: place + 1]):
            if node.wants_from_agent(message):
                node.receive_from_agent(message)
                return
        waiting = self._introduction
        answers_hello = message.method is None and self._hello is not None and message.id == self._hello.id
        if waiting is None or not answers_hello:
            self._joined_chain().send_left_of(self, message)
        elif not waiting.done():
            waiting.set_result(message)

    def _joined_chain(self) -> "Chain":
        if self._chain is None:
            raise RuntimeError(f"{self.name} is not part of a chain")
        return self._chain
