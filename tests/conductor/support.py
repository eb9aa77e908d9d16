"""A chain in memory with both its ends in the test's hands."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Raw

from portico.conductor.assembly import Assembly, StartLimit
from portico.conductor.chain import Chain
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.rpc.messages import Fault
from portico.rpc.streams import MemoryStream, memory_pair

HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'


class Wire:
    """One end of a stream, line by line."""

    def __init__(self, stream: MemoryStream) -> None:
        self.stream = stream
        self._lines: list[bytes] = []

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            self.stream.write((line.encode() if isinstance(line, str) else line) + b"\n")

    def send_json(self, **message: Any) -> None:
        self.send(msgspec.json.encode({"jsonrpc": "2.0", **message}))

    async def line(self) -> bytes:
        async with asyncio.timeout(30):
            while not self._lines:
                chunk = await self.stream.read()
                if not chunk:
                    raise EOFError
                self._lines = chunk.split(b"\n")[:-1]
        return self._lines.pop(0)

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = codecs.decode_json(await self.line())
        return message


class Ends:
    def __init__(self, client: Wire, agent: Wire, faults: list[tuple[str, Fault]]) -> None:
        self.client = client
        self.agent = agent
        self.faults = faults

    async def initialize(self) -> None:
        """Shake hands through the chain, so that it is built."""
        self.client.send(HELLO)
        self.agent.send(
            '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}'
            % msgspec.json.encode((await self.agent.receive())["id"]).decode()
        )
        assert (await self.client.receive())["id"] == 0


@asynccontextmanager
async def chain(*links: Proxy | ChainNode, start_limit: StartLimit | None = None) -> AsyncIterator[Ends]:
    near_client, far_client = memory_pair()
    near_agent, far_agent = memory_pair()
    faults: list[tuple[str, Fault]] = []
    nodes: Sequence[ChainNode] = [ProxyNode(link) if isinstance(link, Proxy) else link for link in links]

    async def assemble(params: Raw) -> Assembly:
        return Assembly(nodes, near_agent, start_limit=start_limit)

    made = Chain(near_client, assemble, on_fault=lambda side, fault: faults.append((side, fault)))
    running = asyncio.create_task(made.run())
    try:
        yield Ends(Wire(far_client), Wire(far_agent), faults)
    finally:
        await far_client.close()
        async with asyncio.timeout(30):
            await running
