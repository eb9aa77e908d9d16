"""A chain that is itself a proxy of another: it has no agent, and does to messages what a chain does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.node import ProxyNode
from portico.conductor.program_node import ProgramNode
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.rpc.messages import Fault, Message
from portico.rpc.streams import ByteStream, memory_pair
from tests.conductor.mcp_support import frame
from tests.conductor.support import Ends, Wire, chain

HELLO = {"protocolVersion": 1, "_meta": {"kept": 1.50}}
CAPABLE = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}


class Signing(Proxy):
    """Signs prompts, and what the agent asks the client."""

    name = "signing"
    client_methods = frozenset({"session/prompt"})
    agent_methods = frozenset({"fs/read_text_file"})

    def from_client(self, message: Message) -> None:
        self.forward_right(message.with_params({**codecs.decode_json(message.params), "signed": True}))

    def from_agent(self, message: Message) -> None:
        self.forward_left(message.with_params({**codecs.decode_json(message.params), "signed": True}))


class Conductor:
    """The one who has the nested chain as a proxy, with both sides in the test's hands."""

    def __init__(self, wire: Wire, faults: list[tuple[str, Fault]]) -> None:
        self.wire = wire
        self.faults = faults

    async def initialize(self) -> None:
        self.wire.send(frame(id="hello", method="proxy/initialize", params=HELLO))
        asked = await self.wire.receive()
        self.wire.send(frame(id=asked["id"], result=CAPABLE))
        assert await self.wire.receive() == {"jsonrpc": "2.0", "id": "hello", "result": CAPABLE}

    async def passes(self, sent: bytes) -> dict[str, Any]:
        """Send something; what comes out of the chain because of it."""
        self.wire.send(sent)
        return await self.wire.receive()


def nested_chain(stream: ByteStream, *proxies: Proxy, faults: list[tuple[str, Fault]] | None = None) -> Chain:
    async def assemble(params: Raw) -> Assembly:
        raise AssertionError("a proxy has no agent to start")

    async def assemble_proxy(params: Raw) -> Assembly:
        return Assembly([ProxyNode(proxy) for proxy in proxies], None)

    told = faults if faults is not None else []
    return Chain(
        stream,
        assemble,
        assemble_proxy=assemble_proxy,
        on_fault=lambda side, fault: told.append((side, fault)),
    )


@asynccontextmanager
async def nested(*proxies: Proxy) -> AsyncIterator[Conductor]:
    near, far = memory_pair()
    faults: list[tuple[str, Fault]] = []
    running = asyncio.create_task(nested_chain(near, *proxies, faults=faults).run())
    try:
        yield Conductor(Wire(far), faults)
    finally:
        await far.close()
        async with asyncio.timeout(5):
            await running


@asynccontextmanager
async def three_levels() -> AsyncIterator[Ends]:
    """A chain, in it a chain, in it another; the client and the agent are the test's."""
    outer, inner = memory_pair()
    deeper, deepest = memory_pair()

    async def assemble_inner(params: Raw) -> Assembly:
        return Assembly([ProxyNode(Signing()), ProgramNode("deepest", deeper)], None)

    chains = (Chain(inner, assemble_inner, assemble_proxy=assemble_inner), nested_chain(deepest))
    running = [asyncio.create_task(one.run()) for one in chains]
    try:
        async with chain(ProgramNode("inner", outer)) as ends:
            await ends.initialize()
            yield ends
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class TestTheFirstMessage:
    @pytest.mark.parametrize(
        ("word", "request_spelling", "notification_spelling"),
        [
            ("proxy/initialize", "proxy/successor", "proxy/successor"),
            ("_proxy/initialize", "_proxy/successor", "_proxy/successor"),
        ],
    )
    async def test_decides_that_it_is_a_proxy_and_in_which_dialect(
        self, word: str, request_spelling: str, notification_spelling: str
    ) -> None:
        async with nested(Signing()) as conductor:
            asked = await conductor.passes(frame(id="hello", method=word, params=HELLO))
            assert (asked["method"], asked["params"]) == (
                request_spelling,
                {"method": "initialize", "params": HELLO},
            )
            answered = await conductor.passes(frame(id=asked["id"], result=CAPABLE))
            assert answered == {"jsonrpc": "2.0", "id": "hello", "result": CAPABLE}
            told = await conductor.passes(frame(method="session/cancel", params={"sessionId": "s"}))
            assert told["method"] == notification_spelling
            assert told["params"] == {"method": "session/cancel", "params": {"sessionId": "s"}}

    async def test_in_the_oldest_dialect_is_an_ordinary_one_with_a_mark(self) -> None:
        marked = {"protocolVersion": 1, "_meta": {"proxy": True, "kept": 1}}
        async with nested() as conductor:
            asked = await conductor.passes(frame(id=1, method="initialize", params=marked))
            assert asked["method"] == "_proxy/successor/request"
            passed_on = {"protocolVersion": 1, "_meta": {"kept": 1}}
            assert asked["params"] == {"method": "initialize", "params": passed_on}
            answered = await conductor.passes(
                frame(id=asked["id"], result={**CAPABLE, "_meta": {"theirs": 2}})
            )
            assert answered["result"] == {**CAPABLE, "_meta": {"theirs": 2, "proxy": True}}
            told = await conductor.passes(frame(method="session/cancel", params={}))
            assert told["method"] == "_proxy/successor/notification"
            heard = frame(method="_proxy/successor/notification", params={"method": "_a", "params": {"n": 1}})
            assert await conductor.passes(heard) == {"jsonrpc": "2.0", "method": "_a", "params": {"n": 1}}

    async def test_is_refused_by_a_chain_that_can_only_be_an_agent(self) -> None:
        async with chain() as ends:
            ends.client.send(frame(id=1, method="proxy/initialize", params=HELLO))
            assert "before initialize" in (await ends.client.receive())["error"]["message"]
            await ends.initialize()


class TestMessages:
    async def test_of_the_client_reach_the_successor_through_the_proxies_under_their_own_id(self) -> None:
        async with nested(Signing()) as conductor:
            await conductor.initialize()
            asked = await conductor.passes(frame(id=7, method="session/prompt", params={"_meta": {"m": 1}}))
            assert asked == {
                "jsonrpc": "2.0",
                "id": 7,
                "method": "proxy/successor",
                "params": {"method": "session/prompt", "params": {"_meta": {"m": 1}, "signed": True}},
            }
            error = {"code": -7, "message": "no", "data": {"why": [1.5]}}
            refused = await conductor.passes(frame(id=7, error=error))
            assert refused == {"jsonrpc": "2.0", "id": 7, "error": error}

    async def test_of_the_successor_reach_the_client_without_what_was_meant_for_one_hop(self) -> None:
        inner = {"path": "/a", "_meta": {"inner": 1}}
        envelope = {"method": "fs/read_text_file", "params": inner, "_meta": {"hop": 1}}
        async with nested(Signing()) as conductor:
            await conductor.initialize()
            asked = await conductor.passes(frame(id=8, method="proxy/successor", params=envelope))
            assert (asked["id"], asked["method"]) == (8, "fs/read_text_file")
            assert asked["params"] == {**inner, "signed": True}
            answered = await conductor.passes(frame(id=8, result={"content": "x"}))
            assert answered == {"jsonrpc": "2.0", "id": 8, "result": {"content": "x"}}
            update = {"method": "session/update", "params": {"n": 1}}
            told = await conductor.passes(frame(method="proxy/successor", params=update))
            assert told == {"jsonrpc": "2.0", **update}

    async def test_of_both_sides_at_once_find_their_way_back(self) -> None:
        async with nested() as conductor:
            await conductor.initialize()
            await conductor.passes(frame(id=1, method="session/prompt", params={}))
            await conductor.passes(frame(id=2, method="proxy/successor", params={"method": "_question"}))
            answered = await conductor.passes(frame(id=2, result="of the client"))
            assert answered == {"jsonrpc": "2.0", "id": 2, "result": "of the client"}
            answered = await conductor.passes(frame(id=1, result="of the agent"))
            assert answered == {"jsonrpc": "2.0", "id": 1, "result": "of the agent"}

    async def test_that_cancel_are_for_one_hop_and_name_the_request_of_that_hop(self) -> None:
        async with nested() as conductor:
            await conductor.initialize()
            for asking in (
                frame(id=3, method="session/prompt", params={}),
                frame(id=4, method="proxy/successor", params={"method": "_question"}),
            ):
                asked = await conductor.passes(asking)
                cancel = frame(method="$/cancel_request", params={"requestId": asked["id"]})
                assert await conductor.passes(cancel) == codecs.decode_json(cancel)

    async def test_without_a_method_inside_are_refused(self) -> None:
        async with nested() as conductor:
            await conductor.initialize()
            conductor.wire.send(frame(method="proxy/successor", params={"params": {}}))
            refused = await conductor.passes(frame(id=5, method="proxy/successor", params=[]))
            assert (refused["id"], refused["error"]["code"]) == (5, -32602)

    async def test_under_an_id_that_the_other_side_uses_stop_here(self) -> None:
        async with nested() as conductor:
            await conductor.initialize()
            await conductor.passes(frame(id=6, method="session/prompt", params={}))
            conductor.wire.send(frame(id=6, method="proxy/successor", params={"method": "_question"}))
            conductor.wire.send(frame(id="nobody", result=1))
            answered = await conductor.passes(frame(id=6, result="of the agent"))
            assert answered == {"jsonrpc": "2.0", "id": 6, "result": "of the agent"}
        assert [(side, fault.kind) for side, fault in conductor.faults] == [
            ("agent", "duplicate_id"),
            ("client", "unknown_response"),
        ]


class TestThreeLevels:
    async def test_pass_everything_on_and_cancel_hop_by_hop(self) -> None:
        async with three_levels() as ends:
            ends.client.send(frame(id=9, method="session/prompt", params={"_meta": {"m": 1}}))
            asked = await ends.agent.receive()
            assert (asked["method"], asked["params"]) == (
                "session/prompt",
                {"_meta": {"m": 1}, "signed": True},
            )
            ends.client.send(frame(method="$/cancel_request", params={"requestId": 9}))
            cancelled = await ends.agent.receive()
            assert cancelled["params"] == {"requestId": asked["id"]}
            error = {"code": -32800, "message": "stopped", "data": [1]}
            ends.agent.send(frame(id=asked["id"], error=error))
            assert await ends.client.receive() == {"jsonrpc": "2.0", "id": 9, "error": error}

    async def test_pass_on_what_the_agent_asks_and_withdraws(self) -> None:
        async with three_levels() as ends:
            ends.agent.send(frame(id="q", method="fs/read_text_file", params={"path": "/a"}))
            asked = await ends.client.receive()
            assert asked["params"] == {"path": "/a", "signed": True}
            ends.agent.send(frame(method="$/cancel_request", params={"requestId": "q"}))
            assert (await ends.client.receive())["params"] == {"requestId": asked["id"]}
            ends.client.send(frame(id=asked["id"], result={"content": ""}))
            assert await ends.agent.receive() == {"jsonrpc": "2.0", "id": "q", "result": {"content": ""}}

    async def test_keep_the_order_of_a_long_stream(self) -> None:
        async with three_levels() as ends:
            for number in range(2_000):
                ends.agent.send(frame(method="session/update", params={"n": number}))
            numbers = [(await ends.client.receive())["params"]["n"] for _ in range(2_000)]
        assert numbers == list(range(2_000))
