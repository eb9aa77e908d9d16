"""Contender: a Portico host with its durable log, and one door that watches: flood_host.py COUNT WORKSPACE"""

import asyncio
import os
import sys
import time
from pathlib import Path

import msgspec

from bench.children import agent_command
from bench.programs.flood_agent import delta
from bench.updates import Flood
from portico.app.host import Host, open_host
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.sessions.log.watch import ends_turn
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt

PAGE = 500


async def main() -> None:
    count, workspace = int(sys.argv[1]), Path(sys.argv[2])
    spec = AgentSpec(name="flood", command=agent_command("flood_agent", str(count)))
    async with open_host(os.environ) as host:
        session_id = await host.service.start(workspace, spec)
        await host.service.session(session_id).prompt(TurnPrompt(text="warm up"))
        before = (await host.service.show(session_id)).last_seq
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                host.service.session(session_id).prompt(TurnPrompt(text="flood")), name="prompt"
            )
            shown = tasks.create_task(_watch(host, session_id, before), name="door")
        seconds = time.perf_counter() - started
        logged = await _logged(host, session_id, before)
    expected = "".join(map(delta, range(count)))
    flood = Flood(seconds=seconds, complete=shown.result() == expected and logged == expected)
    sys.stdout.buffer.write(msgspec.json.encode(flood))


async def _watch(host: Host, session_id: SessionId, after_seq: int) -> str:
    """All the text that a door sees until the turn is over."""
    pieces: list[str] = []
    async for event in host.service.watch(session_id, after_seq=after_seq):
        if isinstance(event.payload, TextDelta):
            pieces.append(event.payload.text)
        if ends_turn(event):
            break
    return "".join(pieces)


async def _logged(host: Host, session_id: SessionId, after_seq: int) -> str:
    """All the text of the turn, read back from the store."""
    pieces: list[str] = []
    while page := await host.store.read(session_id, after_seq=after_seq, limit=PAGE):
        pieces += [event.payload.text for event in page if isinstance(event.payload, TextDelta)]
        after_seq = page[-1].seq
    return "".join(pieces)


if __name__ == "__main__":
    asyncio.run(main())
