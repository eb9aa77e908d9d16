"""The golden messages of the official Python SDK pass a proxy that is a program, with every byte of their contents.

The program here passes on what it gets, so whatever differs at the end was changed by the conductor.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, Raw, UnsetType

from portico.conductor.program_node import ProgramNode
from portico.domain import codecs
from portico.rpc.messages import Frame
from portico.rpc.streams import memory_pair
from scripts.fetch_goldens import fetch
from tests.conductor.support import Ends, Wire, chain
from tests.end_to_end.test_acp_goldens import GOLDENS, Golden, on_one_line, parts, passed


class Wrapped(msgspec.Struct):
    method: str
    params: Raw | UnsetType = UNSET


async def pass_on(program: Wire) -> None:
    """The least a proxy can do: wrap for the agent, unwrap for the client, and use each id for both."""
    while True:
        line = await program.line()
        frame = codecs.decode_json(line, Frame)
        if isinstance(frame.method, UnsetType):
            program.send(line)
            continue
        method, params = onward(frame.method, contents(frame.params))
        shown_id = b"" if isinstance(frame.id, UnsetType) else b'"id":%b,' % msgspec.json.encode(frame.id)
        name = msgspec.json.encode(method)
        program.send(b'{"jsonrpc":"2.0",%b"method":%b,"params":%b}' % (shown_id, name, params))


def contents(params: Raw | UnsetType) -> bytes:
    return b"{}" if isinstance(params, UnsetType) else bytes(params)


def onward(method: str, params: bytes) -> tuple[str, bytes]:
    if method == "proxy/successor":
        inner = codecs.decode_json(params, Wrapped)
        return inner.method, contents(inner.params)
    name = msgspec.json.encode("initialize" if method == "proxy/initialize" else method)
    return "proxy/successor", b'{"method":%b,"params":%b}' % (name, params)


@asynccontextmanager
async def behind_programs(count: int) -> AsyncIterator[Ends]:
    pairs = [memory_pair() for _ in range(count)]
    nodes = [ProgramNode(f"program {number}", near) for number, (near, _) in enumerate(pairs)]
    programs = [asyncio.create_task(pass_on(Wire(far))) for _, far in pairs]
    async with chain(*nodes) as ends:
        await ends.initialize()
        yield ends
    for program in programs:
        program.cancel()
    await asyncio.gather(*programs, return_exceptions=True)


@pytest.fixture(scope="session")
def goldens() -> Path:
    return fetch()


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", sorted(GOLDENS))
async def test_its_contents_pass_byte_by_byte(name: str, count: int, goldens: Path) -> None:
    golden: Golden = GOLDENS[name]
    async with behind_programs(count) as ends:
        sent, received = await passed(ends, golden, on_one_line(goldens / f"{name}.json"), b"{}")
    assert parts(received) == parts(sent)
