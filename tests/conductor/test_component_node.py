"""A component takes its place when the agent has answered; one that fails is left out and tried again."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Raw

from portico.conductor.component_node import ComponentNode
from portico.conductor.node import ProxyNode
from portico.conductor.program_node import LeaveOut, ProgramNode
from portico.conductor.proxies.notices import ChainNotices
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.rpc.messages import Message
from portico.rpc.streams import MemoryStream, memory_pair
from tests.conductor.support import Ends, Wire, chain

SOON = 0.01


class Marking(Proxy):
    """Adds its mark to prompts."""

    name = "marking"
    client_methods = frozenset({"initialize", "session/prompt"})

    def __init__(self, mark: str) -> None:
        super().__init__()
        self._mark = mark

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self.forward_right(message, self.node.send_left)
        else:
            before = codecs.decode_json(message.params, dict[str, list[str]]).get("by", [])
            self.node.send_right(message.with_params({"by": [*before, self._mark]}))


class Silent(Proxy):
    name = "silent"
    client_methods = frozenset({"initialize"})

    def from_client(self, message: Message) -> None:
        """Never lets `initialize` go on."""


class Failing(Proxy):
    name = "failing"
    client_methods = frozenset({"initialize"})

    def from_client(self, message: Message) -> None:
        raise KeyError("colour")


class Planner:
    """Plans what it is told to, and keeps what it was asked with and what was reported."""

    def __init__(self, *outcomes: Sequence[Proxy] | Exception | None) -> None:
        self._outcomes = list(outcomes)
        self.asked: list[tuple[bytes, bytes]] = []
        self.reported: list[tuple[str, str | None]] = []

    def node(self) -> ComponentNode:
        return ComponentNode("example", self.plan, self.report, seconds=SOON)

    async def plan(self, hello: Raw, answer: Raw) -> Sequence[Proxy]:
        self.asked.append((bytes(hello), bytes(answer)))
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            await asyncio.get_running_loop().create_future()
        return outcome or ()

    def report(self, name: str, problem: str | None) -> None:
        self.reported.append((name, problem))


async def greeted(ends: Ends) -> dict[str, Any]:
    """The answer to `initialize`, after the agent has given its own."""
    ends.client.send_json(id=0, method="initialize", params={"protocolVersion": 1})
    hello = await ends.agent.receive()
    ends.agent.send_json(id=hello["id"], result={"protocolVersion": 1})
    answer = await ends.client.receive()
    assert answer["id"] == 0
    return dict(answer["result"])


async def prompted(ends: Ends) -> dict[str, Any]:
    """A prompt as it reaches the agent."""
    ends.client.send_json(id=9, method="session/prompt", params={})
    asked = await ends.agent.receive()
    ends.agent.send_json(id=asked["id"], result={})
    assert (await ends.client.receive())["id"] == 9
    return dict(asked["params"])


async def opened(ends: Ends) -> None:
    ends.client.send_json(id=5, method="session/new", params={"cwd": "/", "mcpServers": []})
    asked = await ends.agent.receive()
    ends.agent.send_json(id=asked["id"], result={"sessionId": "s"})
    assert (await ends.client.receive())["id"] == 5


async def test_the_proxies_join_when_the_agent_has_answered_and_see_both_messages() -> None:
    planner = Planner([Marking("left"), Marking("right")])
    async with chain(planner.node()) as ends:
        assert await greeted(ends) == {"protocolVersion": 1}
        assert planner.asked == []
        await opened(ends)
        assert planner.asked == [(b'{"protocolVersion":1}', b'{"protocolVersion":1}')]
        assert await prompted(ends) == {"by": ["left", "right"]}
    assert planner.reported == [("example", None)]


async def test_a_component_with_nothing_to_add_lets_everything_pass() -> None:
    async with chain(Planner([]).node()) as ends:
        assert await greeted(ends) == {"protocolVersion": 1}
        await opened(ends)
        assert await prompted(ends) == {}


async def test_components_stand_in_their_order() -> None:
    first, second = Planner([Marking("first")]), Planner([Marking("second")])
    async with chain(first.node(), second.node()) as ends:
        await greeted(ends)
        await opened(ends)
        assert await prompted(ends) == {"by": ["first", "second"]}


async def test_sessions_that_are_opened_at_once_wait_for_the_same_proxies() -> None:
    planner = Planner([Marking("only")])
    async with chain(planner.node()) as ends:
        await greeted(ends)
        for request_id in (5, 6):
            ends.client.send_json(id=request_id, method="session/new", params={"cwd": "/", "mcpServers": []})
        assert [(await ends.agent.receive())["id"] for _ in (5, 6)] == [5, 6]
        assert await prompted(ends) == {"by": ["only"]}
    assert len(planner.asked) == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("colour"), "KeyError: 'colour'"),
        (
            InvalidInput("The settings are invalid.", suggestion="Correct them."),
            "The settings are invalid. Correct them.",
        ),
    ],
)
async def test_a_component_that_cannot_be_planned_is_left_out_and_tried_again(
    error: Exception, reason: str
) -> None:
    planner = Planner(error, [Marking("again")])
    async with chain(planner.node()) as ends:
        await greeted(ends)
        await opened(ends)
        assert planner.reported == [("example", reason)]
        assert await prompted(ends) == {}
        await opened(ends)
        assert planner.reported[1:] == [("example", None)]
        assert await prompted(ends) == {"by": ["again"]}


async def test_a_component_whose_planning_does_not_end_is_left_out() -> None:
    planner = Planner(None)
    async with chain(planner.node()) as ends:
        await greeted(ends)
        await opened(ends)
    assert planner.reported == [("example", "It did not start within 0.01 s.")]


async def test_a_component_that_never_answers_initialize_is_left_out_and_tried_again() -> None:
    planner = Planner([Marking("lost"), Silent()], [Silent()], [Marking("back")])
    async with chain(planner.node()) as ends:
        await greeted(ends)
        await opened(ends)
        assert await prompted(ends) == {}
        await opened(ends)
        await opened(ends)
        assert await prompted(ends) == {"by": ["back"]}
    late = "It did not start within 0.01 s."
    assert planner.reported == [("example", late), ("example", late), ("example", None)]


async def test_a_component_that_refuses_initialize_is_left_out() -> None:
    planner = Planner([Failing()])
    async with chain(planner.node()) as ends:
        await greeted(ends)
        await opened(ends)
    assert planner.reported == [("example", "the proxy failing failed: KeyError")]


async def test_an_agent_that_refuses_initialize_is_not_asked_for_components() -> None:
    planner = Planner()
    async with chain(planner.node()) as ends:
        ends.client.send_json(id=0, method="initialize", params={})
        hello = await ends.agent.receive()
        ends.agent.send_json(id=hello["id"], error={"code": -1, "message": "no"})
        assert (await ends.client.receive())["error"]["message"] == "no"
    assert planner.asked == []


class TestPrograms:
    """A program that is switched on as a component."""

    def _node(self) -> tuple[ProgramNode, MemoryStream, list[tuple[str, str]]]:
        near, far = memory_pair()
        reported: list[tuple[str, str]] = []
        leave_out = LeaveOut(lambda name, why: reported.append((name, why)), SOON)
        return ProgramNode("program", near, leave_out=leave_out), far, reported

    async def test_one_that_never_answers_is_left_out(self) -> None:
        node, program, reported = self._node()
        async with chain(node) as ends:
            assert await greeted(ends) == {"protocolVersion": 1}
            assert await prompted(ends) == {}
            await program.close()
        assert reported == [("program", "It did not answer initialize within 0.01 s.")]

    async def test_one_that_ends_at_once_is_left_out(self) -> None:
        node, program, reported = self._node()
        await program.close()
        async with chain(node) as ends:
            assert await greeted(ends) == {"protocolVersion": 1}
            assert await prompted(ends) == {}
        assert reported == [("program", "It is gone.")]

    async def test_one_that_ends_while_the_agent_starts_is_left_out(self) -> None:
        near, program = memory_pair()
        gone = asyncio.Event()
        node = ProgramNode("program", near, leave_out=LeaveOut(lambda *_: gone.set(), SOON))
        wire = Wire(program)
        async with chain(node) as ends:
            ends.client.send_json(id=0, method="initialize", params={"protocolVersion": 1})
            hello = await wire.receive()
            inner = {"method": "initialize", "params": hello["params"]}
            wire.send_json(id=77, method="proxy/successor", params=inner)
            asked = await ends.agent.receive()
            await program.close()
            await gone.wait()
            ends.agent.send_json(id=asked["id"], result={"protocolVersion": 1})
            assert await ends.client.receive() == {
                "jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}
            }  # fmt: skip
            assert await prompted(ends) == {}

    async def test_one_that_keeps_the_answer_is_left_out(self) -> None:
        node, program, reported = self._node()
        wire = Wire(program)
        async with chain(node) as ends:
            ends.client.send_json(id=0, method="initialize", params={"protocolVersion": 1})
            hello = await wire.receive()
            inner = {"method": "initialize", "params": hello["params"]}
            wire.send_json(id=77, method="proxy/successor", params=inner)
            asked = await ends.agent.receive()
            ends.agent.send_json(id=asked["id"], result={"protocolVersion": 1})
            assert (await ends.client.receive())["result"] == {"protocolVersion": 1}
            await program.close()
        assert [name for name, _ in reported] == ["program"]


class TestNotices:
    async def _told(self, hello: dict[str, Any]) -> list[Any]:
        notices = ChainNotices()
        notices.report("x", "The component x is left out. It is too old.")
        notices.report("y", "gone")
        notices.report("y", None)
        async with chain(ProxyNode(notices)) as ends:
            ends.client.send_json(id=0, method="initialize", params=hello)
            asked = await ends.agent.receive()
            ends.agent.send_json(id=asked["id"], result={})
            await ends.client.receive()
            told = []
            for session in ("s", "s", "t"):
                ends.client.send_json(id=1, method="session/prompt", params={"sessionId": session})
                prompt = await ends.agent.receive()
                ends.agent.send_json(id=prompt["id"], result={})
                while "params" in (heard := await ends.client.receive()):
                    told.append((heard["params"]["sessionId"], heard["params"]["update"]))
        return told

    async def test_each_session_is_told_once_as_a_notice_where_the_client_takes_one(self) -> None:
        told = await self._told({"clientCapabilities": {"session": {"notices": {}}}, "protocolVersion": 1})
        notice = {
            "sessionUpdate": "notice",
            "severity": "warning",
            "title": "The component x is left out. It is too old.",
        }
        assert told == [("s", notice), ("t", notice)]

    async def test_other_clients_are_shown_a_tool_call(self) -> None:
        told = await self._told({"protocolVersion": 1})
        assert [(session, one["sessionUpdate"], one["title"]) for session, one in told] == [
            ("s", "tool_call", "The component x is left out. It is too old."),
            ("t", "tool_call", "The component x is left out. It is too old."),
        ]
