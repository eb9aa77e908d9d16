"""Responses that are late, repeated or unsolicited, on their way through a chain."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Raw

from portico.conductor.program_node import ProgramNode
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.messages import METHOD_NOT_FOUND, Fault, RpcError
from portico.rpc.streams import memory_pair
from tests.conductor.permission_support import approvals_in, broker, selected
from tests.conductor.support import Ends, Wire, chain

CANCELLED = '{"code":-32800,"message":"the request was cancelled"}'


class Impatient:
    """A client that gives its request up as soon as it hears anything."""

    def __init__(self) -> None:
        self.call: asyncio.Task[Raw] | None = None
        self.faults: list[Fault] = []

    def notification(self, method: str, params: Raw) -> None:
        if self.call is not None:
            self.call.cancel()

    async def request(self, method: str, params: Raw) -> RpcReply:
        raise RpcError(METHOD_NOT_FOUND, method)

    def fault(self, fault: Fault) -> None:
        self.faults.append(fault)

    async def ready(self) -> None:
        """Nothing holds the agent back."""


async def test_an_answer_right_behind_what_made_the_caller_give_up_harms_nobody() -> None:
    client = Impatient()
    async with chain() as ends, asyncio.timeout(10):
        await ends.initialize()
        connection = RpcConnection(ends.client.stream, client, name="the agent")
        reading = asyncio.create_task(connection.run())
        client.call = asyncio.create_task(connection.request("session/prompt", {}))
        asked = await ends.agent.receive()
        update = b'{"jsonrpc":"2.0","method":"session/update","params":{}}\n'
        ends.agent.stream.write(update + b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % asked["id"])
        with pytest.raises(asyncio.CancelledError):
            await client.call
        again = asyncio.create_task(connection.request("session/prompt", {}))
        while (message := await ends.agent.receive())["method"] != "session/prompt":
            pass
        ends.agent.send('{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}' % message["id"])
        assert bytes(await again) == b'{"stopReason":"end_turn"}'
        await connection.close()
        await reading
    assert client.faults == []


@pytest.mark.parametrize("answer", ['"result":{"stopReason":"cancelled"}', f'"error":{CANCELLED}'])
async def test_whatever_answers_a_cancelled_request_reaches_its_client_once(answer: str) -> None:
    async with chain() as ends:
        await ends.initialize()
        ends.client.send(
            '{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{}}',
            '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}',
        )
        assert (await ends.agent.receive())["id"] == 5
        assert (await ends.agent.receive())["params"] == {"requestId": 5}
        ends.agent.send('{"jsonrpc":"2.0","id":5,%s}' % answer, '{"jsonrpc":"2.0","id":5,"result":{}}')
        await nothing_but(ends, '{"jsonrpc":"2.0","id":5,%s}' % answer)
    assert [(side, fault.kind) for side, fault in ends.faults] == [("agent", "unknown_response")]


@pytest.mark.parametrize("answer", ['"result":{"stopReason":"cancelled"}', f'"error":{CANCELLED}'])
async def test_it_finds_its_way_back_through_a_program_that_answers_late(answer: str) -> None:
    near, far = memory_pair()
    program = Wire(far)
    async with chain(ProgramNode("slow", near)) as ends:
        ends.client.send('{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}')
        asked = await program.receive()
        ends.client.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}')
        assert (await program.receive())["params"] == {"requestId": asked["id"]}
        for _ in range(2):
            program.send('{"jsonrpc":"2.0","id":"%s",%s}' % (asked["id"], answer))
        program.send('{"jsonrpc":"2.0","method":"_mark","params":{}}')
        assert await ends.client.line() == b'{"jsonrpc":"2.0","id":5,%b}' % answer.encode()
        assert (await ends.client.receive())["method"] == "_mark"


async def test_a_client_cannot_answer_a_question_by_the_id_that_the_agent_knows(tmp_path: Path) -> None:
    async with broker(approvals_in(tmp_path)) as scene:
        asked = scene.ask()
        shown = await scene.shown()
        assert shown["id"] != asked
        scene.to_agent(id=asked, result=selected("yes"))
        scene.to_agent(id=shown["id"], result=selected("no"))
        assert await scene.answer() == {"jsonrpc": "2.0", "id": asked, "result": selected("no")}
        await scene.nothing_more()
        faults = [(side, fault.kind) for side, fault in scene.ends.faults]
    assert faults == [("client", "unknown_response")]


async def test_an_agent_cannot_answer_in_the_name_of_a_program_before_it() -> None:
    near, far = memory_pair()
    program = Wire(far)
    async with chain(ProgramNode("first", near)) as ends:
        ends.client.send('{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}')
        asked = await program.receive()
        for request_id in ("5", '"%s"' % asked["id"]):
            ends.agent.send('{"jsonrpc":"2.0","id":%s,"result":{"forged":true}}' % request_id)
        ends.agent.send('{"jsonrpc":"2.0","method":"_mark","params":{}}')
        assert (await program.receive())["params"]["method"] == "_mark"
        program.send('{"jsonrpc":"2.0","id":"%s","result":{}}' % asked["id"])
        assert await ends.client.receive() == {"jsonrpc": "2.0", "id": 5, "result": {}}
    assert [(side, fault.kind) for side, fault in ends.faults] == [("agent", "unknown_response")] * 2


async def nothing_but(ends: Ends, line: str) -> None:
    """The client gets this line, and nothing else before what is sent now."""
    ends.agent.send('{"jsonrpc":"2.0","method":"_mark","params":{}}')
    assert await ends.client.line() == line.encode()
    assert (await ends.client.receive())["method"] == "_mark"
