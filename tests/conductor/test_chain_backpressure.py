"""Backpressure: a program in the chain that sends more than others can take is held back, not buffered."""

import asyncio

import pytest

from portico.conductor.program_node import ProgramNode
from portico.rpc.streams import MemoryStream, memory_pair
from tests.conductor.support import HELLO, Wire, chain

COUNT, SIZE = 20_000, 1_000
ROUNDS = 20_000


async def flood(stream: MemoryStream, method: str) -> None:
    inner = '{"jsonrpc":"2.0","method":"_x","params":{"method":"_x","text":"%s"}}' % ("x" * SIZE)
    line = inner.replace('"method":"_x","params"', '"method":"%s","params"' % method, 1).encode() + b"\n"
    for _ in range(COUNT):
        stream.write(line)
        await stream.drain()


@pytest.mark.parametrize(("method", "end"), [("_x", "client"), ("proxy/successor", "agent")])
async def test_a_flood_waits_for_whoever_it_runs_to(method: str, end: str) -> None:
    near, far = memory_pair()
    async with chain(ProgramNode("loud", near)) as ends:
        ends.client.send(HELLO)
        await Wire(far).receive()
        flooding = asyncio.create_task(flood(far, method))
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        assert not flooding.done()
        taker = ends.client if end == "client" else ends.agent
        for _ in range(COUNT):
            assert b'"_x"' in await taker.line()
        await flooding


async def test_a_request_of_a_program_that_nobody_can_read_is_refused() -> None:
    near, far = memory_pair()
    async with chain(ProgramNode("unclear", near)) as ends:
        ends.client.send(HELLO)
        program = Wire(far)
        await program.receive()
        program.send('{"jsonrpc":"2.0","id":7,"method":"_x","params":{"text":"\\ud800"}}')
        answer = await program.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32600)


async def test_a_request_of_either_end_that_nobody_can_read_is_refused() -> None:
    async with chain() as ends:
        await ends.initialize()
        for end in (ends.client, ends.agent):
            end.send('{"jsonrpc":"2.0","id":7,"method":"_x","params":{"text":"\\ud800"}}')
            answer = await end.receive()
            assert (answer["id"], answer["error"]["code"]) == (7, -32600)
    assert [side for side, _ in ends.faults] == ["client", "agent"]
