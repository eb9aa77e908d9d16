"""A chain in memory that is written down, and trace files made by hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Raw

from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.node import ProxyNode
from portico.conductor.proxy import Proxy
from portico.conductor.tracing.writer import TraceWriter
from portico.rpc.streams import memory_pair
from tests.conductor.support import Ends, Wire

Json = dict[str, Any]
NOON = 1_800_014_400_000
"""2027-01-15 12:00 UTC."""


class Ticking:
    """A clock that advances by a millisecond at each look."""

    def __init__(self) -> None:
        self._now = NOON - 1

    def __call__(self) -> int:
        self._now += 1
        return self._now


@asynccontextmanager
async def traced_chain(
    path: Path, *proxies: Proxy, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Ends]:
    trace = TraceWriter.open(path, environ or {}, Ticking())
    near_client, far_client = memory_pair()
    near_agent, far_agent = memory_pair()

    async def assemble(_: Raw) -> Assembly:
        return Assembly([ProxyNode(proxy) for proxy in proxies], near_agent)

    chain = Chain(near_client, assemble, on_fault=lambda *_: None, observer=trace.chain())
    running = asyncio.create_task(chain.run())
    try:
        yield Ends(Wire(far_client), Wire(far_agent), [])
    finally:
        await far_client.close()
        async with asyncio.timeout(5):
            await running
        trace.close()


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def frames(path: Path) -> list[Json]:
    return [line for line in lines(path) if line["type"] == "frame"]


def hops(path: Path, method: str | None = None, number: object = None) -> list[str]:
    """Ways of the frames with a method, or with an id."""
    return [
        f"{one['from']}→{one['to']}"
        for one in frames(path)
        if (method is None or one["frame"].get("method") == method)
        and (number is None or one["frame"].get("id") == number)
    ]


class Script:
    """A trace made by hand, line by line; time passes as it is told to."""

    def __init__(self, *proxies: str) -> None:
        self.links = ("editor", *proxies, "agent")
        self._now = NOON
        self._lines: list[Json] = [
            {"type": "trace", "at": self._at, "version": 1, "portico": "1.0"},
            {"type": "opened", "at": self._at, "chain": "c1", "links": self.links},
        ]

    @property
    def _at(self) -> str:
        seconds, rest = divmod(self._now - NOON, 1000)
        return f"2027-01-15T12:{seconds // 60:02}:{seconds % 60:02}.{rest:03}Z"

    def pause(self, milliseconds: int) -> "Script":
        self._now += milliseconds
        return self

    def send(self, hop: str, frame: Json) -> "Script":
        """Along `editor→permissions→agent`, a frame for each hop."""
        links = hop.split("→")
        order = [*self.links, "conductor"]
        for sender, receiver in pairwise(links):
            right = order.index(sender) < order.index(receiver)
            self._lines.append(
                {
                    "type": "frame",
                    "at": self._at,
                    "chain": "c1",
                    "direction": "to_agent" if right else "to_editor",
                    "from": sender,
                    "to": receiver,
                    "frame": {"jsonrpc": "2.0", **frame},
                }
            )
        return self

    def ask(self, hop: str, number: object, method: str, **params: Any) -> "Script":
        return self.send(hop, {"id": number, "method": method, "params": params})

    def answer(self, hop: str, number: object, **result: Any) -> "Script":
        return self.send(hop, {"id": number, "result": result})

    def fail(self, hop: str, number: object, code: int, message: str) -> "Script":
        return self.send(hop, {"id": number, "error": {"code": code, "message": message}})

    def tell(self, hop: str, method: str, **params: Any) -> "Script":
        return self.send(hop, {"method": method, "params": params})

    def chunk(self, hop: str, text: str, session: str = "s1") -> "Script":
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        return self.tell(hop, "session/update", sessionId=session, update=update)

    def add(self, **line: Any) -> "Script":
        self._lines.append({"at": self._at, "chain": "c1", **line})
        return self

    def write(self, path: Path) -> Path:
        path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in self._lines))
        return path
