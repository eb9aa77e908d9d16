"""A hundred sessions stream at once over five agents, for as long as is asked: python -m bench.soak [SECONDS]

Every word of every answer is numbered and compared, so a loss or a change of order shows. At the end
the log must be whole, the memory must not have grown beyond its bound, and no process may be left.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import psutil

from portico.cli.host import Host, open_host
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.domain.turns import TurnState
from portico.sessions.ports import AgentSpec
from portico.sessions.service import ends_turn
from portico.sessions.turn import Prompt
from portico.testing import scripted_agent_command, stream_text

SESSIONS = 100
AGENTS = 5
SECONDS = 120.0
DELTAS, SIZE, PAUSE_MS = 200, 40, 5
# What the process may grow by after everything has run once.
MEMORY_BOUND = 64 * 1024 * 1024


class Failed(Exception):
    """Something was lost, mixed up or left behind."""


async def soak(seconds: float) -> None:
    """Stream until the time is up, and check everything."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "PORTICO_HOME": folder}
        environ.pop("PORTICO_TAP", None)
        async with open_host(environ) as host:
            sessions = [
                await _start(host, Path(folder) / f"work{number % AGENTS}") for number in range(SESSIONS)
            ]
            await asyncio.gather(*(_turn(host, session_id) for session_id in sessions))
            _expect(len(_agents()) == AGENTS, f"{len(_agents())} agents instead of {AGENTS}")
            before, end = _memory(), time.monotonic() + seconds
            turns = sum(await asyncio.gather(*(_until(host, session_id, end) for session_id in sessions)))
            grown = _memory() - before
            problems = await host.store.verify()
        _expect(not problems, f"the log is not whole: {problems[:3]}")
        _expect(grown < MEMORY_BOUND, f"memory grew by {grown / 1e6:.1f} MB")
        _expect(not _agents(), "an agent was left behind")
    updates = turns * DELTAS
    print(
        f"{SESSIONS} sessions over {AGENTS} agents for {seconds:g} s: {turns:,} turns, {updates:,} updates, "
        f"none lost or out of order; memory {grown / 1e6:+.1f} MB; no process left."
    )


async def _start(host: Host, workspace: Path) -> SessionId:
    await asyncio.to_thread(workspace.mkdir, exist_ok=True)
    spec = AgentSpec(name="scripted", command=scripted_agent_command())
    return await host.service.start(workspace, spec, reads_only=True)


async def _until(host: Host, session_id: SessionId, end: float) -> int:
    turns = 0
    while time.monotonic() < end:
        await _turn(host, session_id)
        turns += 1
    return turns


async def _turn(host: Host, session_id: SessionId) -> None:
    """One turn, watched by a door that compares every word."""
    summary = await host.service.show(session_id)
    watching = asyncio.create_task(_watch(host, session_id, summary.last_seq))
    ended = await host.service.prompt(session_id, Prompt(text=f"stream {DELTAS} {SIZE} {PAUSE_MS}"))
    _expect(ended.state is TurnState.COMPLETED, f"a turn ended {ended.state}")
    _expect(await watching == stream_text(DELTAS, SIZE), f"session {session_id} got other words")


async def _watch(host: Host, session_id: SessionId, after_seq: int) -> str:
    pieces: list[str] = []
    expected = after_seq + 1
    async for event in host.service.watch(session_id, after_seq=after_seq):
        _expect(event.seq == expected, f"event {event.seq} came instead of {expected}")
        expected += 1
        if isinstance(event.payload, TextDelta):
            pieces.append(event.payload.text)
        if ends_turn(event):
            break
    return "".join(pieces)


def _agents() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [child for child in children if "portico.testing.agent" in " ".join(child.cmdline())]


def _memory() -> int:
    return int(psutil.Process().memory_info().rss)


def _expect(true: bool, complaint: str) -> None:
    if not true:
        raise Failed(complaint)


if __name__ == "__main__":
    asyncio.run(soak(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
