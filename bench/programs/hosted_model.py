"""Contender: prompts to Porter in one session, heard by a door: hosted_model.py ADDRESS STARTED WORKSPACE [reads]

A session that only reads takes no checkpoints.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import msgspec

from bench.model import CALLS, Stopwatch
from portico.agents.registry import PORTER, AgentRegistry
from portico.app.host import Host, open_host, python_program
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.sessions.log.watch import ends_turn
from portico.sessions.turn import TurnPrompt


async def main() -> None:
    address, started, workspace = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    watch = Stopwatch(address, started)
    spec = AgentRegistry(python=python_program(), environ=os.environ).resolve(PORTER)
    async with open_host(os.environ) as host:
        session_id = await host.service.start(workspace, spec, reads_only="reads" in sys.argv)
        for _ in range(CALLS):
            before = (await host.service.show(session_id)).last_seq
            prompted = time.perf_counter()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    host.service.session(session_id).prompt(TurnPrompt(text="hello")), name="prompt"
                )
                heard = tasks.create_task(_hear(host, session_id, before), name="door")
            watch.note(prompted, heard.result())
    sys.stdout.buffer.write(msgspec.json.encode(watch.calls))


async def _hear(host: Host, session_id: SessionId, after_seq: int) -> float:
    """Time of the first word of a turn at a door that stays until it is over."""
    heard = 0.0
    async for event in host.service.watch(session_id, after_seq=after_seq):
        if isinstance(event.payload, TextDelta):
            heard = heard or time.perf_counter()
        if ends_turn(event):
            break
    return heard


if __name__ == "__main__":
    asyncio.run(main())
