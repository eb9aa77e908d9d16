"""Places in Portico that read frames of others, each held open in memory for a round of broken ones."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Raw

from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from portico.conductor.program_node import ProgramNode
from portico.conductor.proxies.editor_context import EditorContext
from portico.domain.errors import PorticoError
from portico.domain.ids import SessionId
from portico.porter.agent import Porter
from portico.processes.clock import SystemClock
from portico.review.acp.path_translation import PathTranslation
from portico.rpc.streams import ByteStream, MemoryStream, StreamClosed, memory_pair
from portico.sessions.ports import AgentSpec, Ports
from portico.sessions.service import SessionService
from portico.sessions.turn import TurnPrompt
from portico.testing.memory_agent import MemoryAgentLauncher, NoEditorProvider
from portico.testing.reviews import MemoryReviewProvider
from portico.testing.store import MemoryStore
from tests.support.mutated_frames import FROM_AGENT, FROM_CLIENT, FROM_PROXY, Json, Mutator

HANG_SECONDS = 10.0
_BATCH = 100
_NOTHING = object()


class Unforeseen(logging.Handler):
    """Collects what Portico logs as an error while frames are thrown at it, and keeps the rest quiet."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter().format(record)
        self.found.setdefault(text[-300:], text)

    def __enter__(self) -> "Unforeseen":
        self._logger = logging.getLogger("portico")
        self._before = (self._logger.level, self._logger.propagate)
        self._logger.setLevel(logging.ERROR)
        self._logger.propagate = False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before


class Wire:
    """A raw end of a stream. It takes every line in, answers requests with `reply`, and wakes who waits for an id."""

    def __init__(self, stream: ByteStream, reply: Callable[[Json], Any] | None = None) -> None:
        self.stream = stream
        self._reply = reply or (lambda _: {})
        self._awaited: dict[str, asyncio.Future[None]] = {}
        self._checks = 0

    async def run(self) -> None:
        rest = b""
        while chunk := await self.stream.read():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                with suppress(ValueError, RecursionError):
                    self._take(json.loads(line))

    async def check(self) -> None:
        """Ask something across, and wait for the answer: a peer that answers is alive."""
        self._checks += 1
        name = f"alive-{id(self)}-{self._checks}"
        answered = self._awaited[name] = asyncio.get_running_loop().create_future()
        self.send(json.dumps({"jsonrpc": "2.0", "id": name, "method": "_alive", "params": {}}).encode())
        async with asyncio.timeout(HANG_SECONDS):
            await answered

    def send(self, *lines: bytes) -> None:
        self.stream.write(b"".join(line + b"\n" for line in lines))

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        if "method" not in message:
            if (waiting := self._awaited.pop(str(message.get("id")), None)) is not None:
                waiting.set_result(None)
        elif "id" in message and (result := self._reply(message)) is not _NOTHING:
            with suppress(StreamClosed):
                self.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())


class Round:
    """One open target: where broken lines go in, and where to ask whether all is well."""

    def __init__(self, attacker: Wire, asker: Wire) -> None:
        self.attacker = attacker
        self.asker = asker

    async def throw(self, mutator: Mutator, count: int) -> None:
        for start in range(0, count, _BATCH):
            self.attacker.send(*(mutator.line() for _ in range(min(_BATCH, count - start))))
            async with asyncio.timeout(HANG_SECONDS):
                await self.attacker.stream.drain()
            await self.asker.check()


@asynccontextmanager
async def _running(*work: Any) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        yield
        dead = [task for task in tasks if task.done()]
        assert not dead, [task.exception() for task in dead]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def porter(folder: Path) -> AsyncIterator[Round]:
    """Porter, and a client that sends it broken frames."""
    near, far = memory_pair()
    client = Wire(near)
    served = Porter(far, state=folder / "state", environ={})
    async with _running(served.run(), client.run()):
        client.send(json.dumps(FROM_CLIENT[0]).encode())
        yield Round(client, client)


_OPENED = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"}}


@asynccontextmanager
async def host(folder: Path) -> AsyncIterator[Round]:
    """A host in the middle of a turn, and an agent that sends it broken frames.

    One of them may end the turn, since it looks like the answer; then the next begins.
    """
    began: asyncio.Future[Wire] = asyncio.get_running_loop().create_future()

    async def behave(stream: ByteStream) -> None:
        agent = Wire(stream, lambda message: reply(agent, message))
        await agent.run()

    def reply(agent: Wire, message: Json) -> Any:
        if message["method"] != "session/prompt":
            return _OPENED.get(message["method"], {})
        if not began.done():
            began.set_result(agent)
        return _NOTHING

    ports = Ports(
        store=MemoryStore(),
        agents=MemoryAgentLauncher(behave),
        editors=NoEditorProvider(),
        reviews=MemoryReviewProvider(),
        clock=SystemClock(),
    )
    service = SessionService(ports)
    session_id: SessionId = await service.start(folder, AgentSpec(name="fake", command=("fake",)))

    async def prompt() -> None:
        while True:
            with suppress(PorticoError):
                await service.session(session_id).prompt(TurnPrompt(text="hello"))

    try:
        async with _running(prompt()):
            agent = await began
            yield Round(agent, agent)
    finally:
        await service.close()


@asynccontextmanager
async def _chain(folder: Path) -> AsyncIterator[tuple[Wire, Wire, Wire]]:
    """The chain of `portico acp` with a program among its proxies: client, agent and program."""
    (near_client, far_client), (near_agent, far_agent), (near, far) = (
        memory_pair(),
        memory_pair(),
        memory_pair(),
    )
    client, agent = Wire(far_client), Wire(far_agent, lambda message: _OPENED.get(message["method"], {}))
    program = _Proxy(far)
    nodes: list[ChainNode] = [
        ProxyNode(EditorContext(folder / "state.json", lambda: 0.0)),
        ProxyNode(PathTranslation()),
        ProxyNode(
            PermissionBroker(
                agent="fake",
                policy=PermissionPolicy(),
                approvals=FileApprovals(folder / "approvals.json", lambda: 0),
            )
        ),
        ProgramNode("program", near),
        ProxyNode(McpBridge("stdio")),
    ]

    async def assemble(_: Raw) -> Assembly:
        return Assembly(nodes, near_agent)

    chain = Chain(near_client, assemble, on_fault=lambda *_: None)
    async with _running(chain.run(), client.run(), agent.run(), program.run()):
        client.send(json.dumps(FROM_CLIENT[0]).encode())
        opening = {
            "jsonrpc": "2.0",
            "id": 8,
            "method": "session/new",
            "params": {"cwd": "/w", "mcpServers": []},
        }
        client.send(json.dumps(opening).encode())
        await client.check()
        yield client, agent, program


class _Proxy(Wire):
    """A proxy program that hands everything on: requests of the client to its successor, and back."""

    def __init__(self, stream: MemoryStream) -> None:
        super().__init__(stream)
        self._asked: dict[str, Any] = {}
        self._made = 0

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        if "method" not in message:
            if (asked := self._asked.pop(str(message.get("id")), None)) is not None:
                self._say({**message, "id": asked})
            return
        outward = message["method"] != "proxy/successor"
        method = "initialize" if message["method"] == "proxy/initialize" else message["method"]
        inner = {"method": method, "params": message.get("params", {})} if outward else message.get("params")
        onward = {"method": "proxy/successor", "params": inner} if outward else inner
        if not isinstance(onward, dict):
            return
        if "id" in message:
            self._made += 1
            self._asked[f"p{self._made}"] = message["id"]
            onward = {**onward, "id": f"p{self._made}"}
        self._say(onward)

    def _say(self, message: Json) -> None:
        with suppress(StreamClosed):
            self.send(json.dumps({"jsonrpc": "2.0", **message}).encode())


@asynccontextmanager
async def chain_from_client(folder: Path) -> AsyncIterator[Round]:
    async with _chain(folder) as (client, _, _):
        yield Round(client, client)


@asynccontextmanager
async def chain_from_agent(folder: Path) -> AsyncIterator[Round]:
    async with _chain(folder) as (client, agent, _):
        yield Round(agent, client)


@asynccontextmanager
async def chain_from_program(folder: Path) -> AsyncIterator[Round]:
    async with _chain(folder) as (client, _, program):
        yield Round(program, client)


Open = Callable[[Path], AbstractAsyncContextManager[Round]]
TARGETS: dict[str, tuple[Open, Sequence[Json]]] = {
    "client to porter": (porter, FROM_CLIENT),
    "agent to host": (host, FROM_AGENT),
    "client to chain": (chain_from_client, FROM_CLIENT),
    "agent to chain": (chain_from_agent, FROM_AGENT),
    "proxy program to chain": (chain_from_program, FROM_PROXY),
}


async def throw_at(name: str, folder: Path, *, seed: int, count: int) -> None:
    """One round: open the target, throw so many broken frames at it, and see that it still answers."""
    opened, frames = TARGETS[name]
    async with opened(folder) as target:
        await target.throw(Mutator(seed, frames), count)
