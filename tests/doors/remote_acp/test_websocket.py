"""ACP over WebSocket: a socket may die at any byte of a turn, and nothing is lost or doubled."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from portico.cli.acp_connect import RemoteChain, RemoteRefused
from portico.rpc.streams import ByteStream, MemoryStream, memory_pair
from portico.rpc.websocket import accept_key, make_key
from tests.doors.http.support import DEADLINE, TOKEN, Door, open_door

UPDATES = 5
REQUESTS = 4


class CountingAgent:
    """Answers each request after a few updates, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.ended = asyncio.Event()
        self.chains = 0

    async def __call__(self, client: ByteStream) -> None:
        self.chains += 1
        rest = b""
        try:
            while data := await client.read():
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.answer(client, json.loads(line))
                await client.drain()
        finally:
            self.ended.set()

    def answer(self, client: ByteStream, message: dict[str, Any]) -> None:
        self.asked.append(message["id"])
        for number in range(UPDATES):
            text = f"{message['id']}.{number} é🏛"
            client.write(json.dumps({"method": "update", "params": text}).encode() + b"\n")
        client.write(json.dumps({"id": message["id"], "result": None}).encode() + b"\n")


def expected(requests: Iterable[int]) -> list[Any]:
    found: list[Any] = []
    for request in requests:
        found += [f"{request}.{number} é🏛" for number in range(UPDATES)]
        found.append(request)
    return found


class FragileNetwork:
    """Forwards connections to a port; the first is cut after so many bytes in one direction."""

    def __init__(self, port: int, *, cut_after: int, toward_client: bool, cuts: int = 1) -> None:
        self.connections = 0
        self._port = port
        self._cut_after = cut_after
        self._toward_client = toward_client
        self._cuts = cuts
        self._own_port = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._forward(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self._own_port = server.sockets[0].getsockname()[1]
        try:
            yield self._own_port
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _forward(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        self.connections += 1
        is_cut = self.connections <= self._cuts
        far, far_out = await asyncio.open_connection("127.0.0.1", self._port)
        pumps = {
            asyncio.create_task(self._pump(near, far_out, is_cut=is_cut and not self._toward_client)),
            asyncio.create_task(self._pump(far, near_out, is_cut=is_cut and self._toward_client)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            for out in (near_out, far_out):
                out.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, *, is_cut: bool) -> None:
        left = self._cut_after
        with suppress(ConnectionError):
            while data := await reader.read(64 * 1024):
                # The server wants to be called by its own port.
                data = data.replace(b":%d\r\n" % self._own_port, b":%d\r\n" % self._port)
                if is_cut and len(data) >= left:
                    out.write(data[:left])
                    await out.drain()
                    return
                left -= len(data)
                out.write(data)
                await out.drain()


class Editor:
    """The editor's side of a remote chain: requests out, what comes back in."""

    def __init__(self, port: int, token: str = TOKEN) -> None:
        self.near, far = memory_pair()
        address = urlsplit(f"ws://127.0.0.1:{port}/acp")
        self.running = asyncio.create_task(self._run(RemoteChain(address, token, far), far))

    async def _run(self, chain: RemoteChain, far: MemoryStream) -> None:
        try:
            await chain.run()
        finally:
            await far.close()

    async def talk(self, requests: Iterable[int]) -> list[Any]:
        """Send requests at once and read until the last is answered; the updates and the answered ids, in order."""
        wanted = list(requests)
        for request in wanted:
            self.near.write(json.dumps({"id": request, "method": "ask"}).encode() + b"\n")
        found: list[Any] = []
        rest = b""
        while wanted[-1] not in found:
            data = await self.near.read()
            if not data:
                await self.running
                raise AssertionError(f"The chain ended after {found}")
            *lines, rest = (rest + data).split(b"\n")
            messages = [json.loads(line) for line in lines]
            found += [message.get("id") or message["params"] for message in messages]
        return found

    async def leave(self) -> None:
        await self.near.close()
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait({self.running})


async def talk_over(door: Door, agent: CountingAgent, network: FragileNetwork) -> None:
    async with asyncio.timeout(DEADLINE), network.open() as port:
        editor = Editor(port)
        found = await editor.talk(range(1, REQUESTS + 1))
        assert found == expected(range(1, REQUESTS + 1))
        assert agent.asked == list(range(1, REQUESTS + 1))
        await editor.leave()


async def test_a_whole_conversation_goes_over_one_socket() -> None:
    agent = CountingAgent()
    async with open_door(run_chain=agent) as door:
        network = FragileNetwork(door.port, cut_after=0, toward_client=True, cuts=0)
        await talk_over(door, agent, network)
        async with asyncio.timeout(DEADLINE):
            await agent.ended.wait()
    assert (agent.chains, network.connections) == (1, 1)


@pytest.mark.parametrize(
    ("toward_client", "bytes_in_all"), [(True, 1500), (False, 600)], ids=["answers", "requests"]
)
async def test_a_socket_that_dies_at_any_byte_loses_and_doubles_nothing(
    toward_client: bool, bytes_in_all: int
) -> None:
    agents: list[CountingAgent] = []
    cut = 0

    async def run_chain(client: ByteStream) -> None:
        await agents[-1](client)

    async with open_door(run_chain=run_chain) as door:
        for offset in range(0, bytes_in_all, 11):
            agents.append(CountingAgent())
            network = FragileNetwork(door.port, cut_after=offset, toward_client=toward_client)
            await talk_over(door, agents[-1], network)
            cut += network.connections > 1
    # The last offsets are behind the end of the conversation.
    assert cut > bytes_in_all // 11 * 0.6


async def test_a_conversation_survives_many_lost_sockets() -> None:
    agent = CountingAgent()
    async with open_door(run_chain=agent) as door:
        network = FragileNetwork(door.port, cut_after=330, toward_client=True, cuts=12)
        await talk_over(door, agent, network)
    assert network.connections > 5
    assert agent.chains == 1


async def test_more_than_is_kept_waits_for_the_client_and_arrives_once() -> None:
    """An agent that says more than the buffer holds is held back, not forgotten."""
    size, count = 64 * 1024, 200

    async def flood(client: ByteStream) -> None:
        await client.read()
        for number in range(count):
            message = {"method": "update", "params": number, "padding": "x" * size}
            client.write(json.dumps(message).encode() + b"\n")
            await client.drain()
        client.write(b'{"id": 1000, "result": null}\n')
        await client.read()

    async with open_door(run_chain=flood) as door:
        network = FragileNetwork(door.port, cut_after=3 * 1024 * 1024 + 17, toward_client=True, cuts=2)
        async with asyncio.timeout(DEADLINE), network.open() as port:
            editor = Editor(port)
            assert await editor.talk([1000]) == [*range(count), 1000]
            await editor.leave()
    assert network.connections == 3


async def shake_hands(port: int, **headers: str) -> tuple[int, dict[str, str], asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    key = make_key()
    lines = {
        "Host": f"127.0.0.1:{port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        "Authorization": f"Bearer {TOKEN}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    writer.write(f"GET /acp HTTP/1.1\r\n{head}\r\n".encode())
    async with asyncio.timeout(DEADLINE):
        status, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
    found = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    if found.get("sec-websocket-accept"):
        assert found["sec-websocket-accept"] == accept_key(key)
    return int(status.split()[1]), found, writer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-WebSocket-Version": "8"}, 426),
        ({"Sec-WebSocket-Key": "short"}, 400),
        ({"Portico-Received": "many"}, 400),
        ({"Acp-Connection-Id": "unknown", "Portico-Received": "0"}, 404),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_socket_needs_the_token_the_host_and_a_proper_handshake(
    headers: dict[str, str], status: int
) -> None:
    async with open_door() as door:
        found, _, writer = await shake_hands(door.port, **headers)
        assert found == status
        writer.close()


async def test_a_client_that_counts_too_much_is_refused() -> None:
    async with open_door() as door:
        _, answered, first = await shake_hands(door.port, Portico_Received="0")
        first.transport.abort()
        again = {"Acp_Connection_Id": answered["acp-connection-id"], "Portico_Received": "7"}
        status, _, second = await shake_hands(door.port, **again)
        assert status == 409
        second.close()


async def test_a_client_that_does_not_count_ends_its_chain_with_its_socket() -> None:
    agent = CountingAgent()
    async with open_door(run_chain=agent) as door:
        status, answered, writer = await shake_hands(door.port)
        assert status == 101
        assert "portico-received" not in answered
        writer.transport.abort()
        async with asyncio.timeout(DEADLINE):
            await agent.ended.wait()


async def test_a_wrong_token_and_a_connection_that_is_gone_are_explained() -> None:
    async with open_door() as door:
        refused = Editor(door.port, token="wrong")
        with pytest.raises(RemoteRefused, match="refuses the token"):
            await refused.running


async def test_a_chain_that_ends_sends_its_last_words_and_closes_the_socket() -> None:
    async def say_goodbye(client: ByteStream) -> None:
        await client.read()
        client.write(b'{"id": 1, "result": null}\n')

    async with open_door(run_chain=say_goodbye) as door:
        async with asyncio.timeout(DEADLINE):
            editor = Editor(door.port)
            assert await editor.talk([1]) == [1]
            await editor.running
