"""A client of the Agent Host Protocol, and a host in memory, joined by a WebSocket without a network."""

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from wsproto.connection import ConnectionType

from portico.chains.reviews import open_reviews
from portico.domain.catalog import AgentEntry
from portico.doors.ahp.client import HostClient
from portico.doors.ahp.host import AgentHost
from portico.doors.ahp.host_parts import HostParts
from portico.doors.api.service import ApiService
from portico.review.local_reviews import LocalReviews
from portico.rpc.websocket import WebSocket
from tests.doors.api.test_calls import Here
from tests.sessions.support import Answer, World, world

ROOT = "ahp-root://"
SESSION, CHAT = "fake:/mine", "ahp-chat:/mine"
DEADLINE = 10.0


class CatalogHere(Here):
    async def agents(self, workspace: Path) -> list[AgentEntry]:
        return [
            AgentEntry(name="missing", command=("x",), installed=False),
            AgentEntry(name="other", command=("x",), installed=True),
            AgentEntry(name="fake", command=("fake",), installed=True, default=True),
        ]


class Peer:
    """Sends frames and keeps what comes: answers by id, actions and notifications in their order."""

    def __init__(self, host: "HostInMemory", name: str) -> None:
        self.name = name
        self.actions: list[dict[str, Any]] = []
        self.notifications: list[dict[str, Any]] = []
        self.seen = 0
        self._host = host
        self._answers: dict[Any, dict[str, Any]] = {}
        self._ids = itertools.count(1)
        self._seqs = itertools.count(1)
        self.far, self.near = join_sockets()
        self._tasks = [
            asyncio.create_task(HostClient(host.host, self.far).run(), name="host side"),
            asyncio.create_task(self._read(), name="client side"),
        ]

    async def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request: its result, or its error as it stands."""
        request_id = next(self._ids)
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        await self.until(lambda: request_id in self._answers)
        answer = self._answers.pop(request_id)
        return answer.get("result", answer.get("error"))

    async def initialize(self, *subscriptions: str) -> Any:
        return await self.ask(
            "initialize",
            channel=ROOT,
            protocolVersions=["1.0.0"],
            clientId=self.name,
            initialSubscriptions=list(subscriptions),
        )

    async def subscribe(self, channel: str) -> Any:
        """The state in the snapshot of a channel."""
        return (await self.ask("subscribe", channel=channel))["snapshot"]["state"]

    async def create(self) -> Any:
        """Make a session and subscribe to it and to its chat; the state of the chat."""
        folder = self._host.world.folder.as_uri()
        assert await self.ask("createSession", channel=SESSION, workingDirectories=[folder]) is None
        await self.subscribe(SESSION)
        return await self.subscribe(CHAT)

    async def dispatch(self, name: str, channel: str = CHAT, /, **fields: Any) -> None:
        action = {"type": name, **fields}
        params = {"channel": channel, "clientSeq": next(self._seqs), "action": action}
        await self.send({"jsonrpc": "2.0", "method": "dispatchAction", "params": params})

    async def start_turn(self, text: str, turn_id: str = "mine-1") -> None:
        await self.dispatch("chat/turnStarted", turnId=turn_id, startedAt="now", message=message(text))

    async def action(self, kind: str, /, **fields: Any) -> dict[str, Any]:
        """The next envelope of a kind with these fields, among those that were not waited for yet."""
        found: list[dict[str, Any]] = []

        def came() -> bool:
            for place in range(self.seen, len(self.actions)):
                said = self.actions[place]["action"]
                if said["type"] == kind and all(said.get(name) == value for name, value in fields.items()):
                    self.seen = place + 1
                    found.append(self.actions[place])
                    return True
            return False

        await self.until(came)
        return found[0]

    async def notification(self, method: str) -> Any:
        await self.until(lambda: any(one["method"] == method for one in self.notifications))
        found = next(one for one in self.notifications if one["method"] == method)
        self.notifications.remove(found)
        return found["params"]

    def kinds(self, channel: str = CHAT) -> list[str]:
        return [one["action"]["type"] for one in self.actions if one["channel"] == channel]

    async def until(self, happened: Callable[[], bool]) -> None:
        """Let the host's time pass until something is so."""
        async with asyncio.timeout(DEADLINE):
            while not happened():
                await self._host.world.clock.advance(0.02)

    async def send(self, frame: Any) -> None:
        await self.near.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def leave(self) -> None:
        """Hang up without a word."""
        self.near.lose()
        self.far.lose()
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.result()

    async def _read(self) -> None:
        while (text := await self.near.receive()) is not None:
            if not isinstance(text, str):
                continue
            frame = json.loads(text)
            if frame.get("method") == "action":
                self.actions.append(frame["params"])
            elif "method" in frame:
                self.notifications.append(frame)
            else:
                self._answers[frame["id"]] = frame


class HostInMemory:
    def __init__(self, made: World, service: ApiService, host: AgentHost) -> None:
        self.world = made
        self.service = service
        self.host = host
        self.peers: list[Peer] = []

    def peer(self, name: str = "one") -> Peer:
        self.peers.append(Peer(self, name))
        return self.peers[-1]


@asynccontextmanager
async def agent_host(answer: Answer, folder: Path, *, keep: float = 300.0) -> AsyncIterator[HostInMemory]:
    async with world(answer, folder) as made:
        catalog: Any = CatalogHere(folder)
        reviews = LocalReviews(made.service, made.ports, open_reviews(dict(os.environ), made.clock))
        service = ApiService(made.service, made.ports, reviews, catalog, asyncio.Event())
        parts = HostParts(
            service=made.service,
            store=made.store,
            clock=made.clock,
            turn_queue=service.turn_queue,
            drafts=service.drafts,
            cleanup=service.cleanup,
            reviews=reviews,
            catalog=catalog,
            version="1.2.3",
        )
        host = HostInMemory(made, service, AgentHost(parts, keep))
        try:
            yield host
        finally:
            for peer in host.peers:
                await peer.leave()
            await host.host.close()
            await service.turn_queue.close()


def join_sockets() -> tuple[WebSocket, WebSocket]:
    """The two ends of a socket: the server's, and the client's."""
    ends: list[WebSocket] = []

    async def drain() -> None:
        await asyncio.sleep(0)

    for at, kind in enumerate((ConnectionType.SERVER, ConnectionType.CLIENT)):

        def write(data: bytes, at: int = at) -> None:
            ends[1 - at].feed(data)

        def end(at: int = at) -> None:
            ends[1 - at].lose()

        ends.append(WebSocket(kind, write, drain, end))
    return ends[0], ends[1]


def message(text: str) -> dict[str, Any]:
    return {"text": text, "origin": {"kind": "user"}}
