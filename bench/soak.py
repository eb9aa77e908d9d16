"""A hundred sessions stream at once over five agents: python -m bench.soak [SECONDS | --turns COUNT]

Every word of every answer is numbered and compared, so a loss or a change of order shows. The memory
must never have risen beyond its bound, however long it takes, and nothing may be kept for ever. At the
end the log must be whole, and no process may be left, not even one that has lost its parent. Without
arguments it takes two minutes.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil

from bench.soak_memory import HighestLevel, Rest, at_rest
from portico.app.host import Host, open_host
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.domain.turns import TurnState
from portico.sessions.log.watch import ends_turn
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt
from portico.testing import scripted_agent_command, stream_text

SESSIONS = 100
AGENTS = 5
SECONDS = 120.0
DELTAS, SIZE, PAUSE_MS = 200, 1000, 5
ANSWER = stream_text(DELTAS, SIZE)
# Each session keeps its newest events in memory; after so many turns there are as many as there can be.
WARM_UP = 2
# How far the process may ever rise above that, in bytes. Two turns of all sessions say more than this.
HIGHEST_RISE = 24_000_000
# How many more pieces of memory may be in use in the end, for each session: its newest events are not always
# equally many. A turn that left something behind would leave it some sixty times in two minutes.
MORE_PIECES = 1_000
_MARK = "SOAK_MARK"
_SECONDS_TO_END = 5.0

GoOn = Callable[[int], bool]
"""Whether a session takes another turn, after so many."""


class Failed(Exception):
    """Something was lost, mixed up or left behind."""


class Outcome(msgspec.Struct, frozen=True):
    turns: int
    seconds: float
    risen: int
    before: Rest
    after: Rest

    @property
    def more_pieces(self) -> int:
        """Pieces of memory that each session has more of, at rest, than it had."""
        return round((self.after.pieces - self.before.pieces) / SESSIONS)

    def __str__(self) -> str:
        return (
            f"{SESSIONS} sessions over {AGENTS} agents for {self.seconds:.0f} s: {self.turns:,} turns, "
            f"{self.turns * DELTAS:,} updates, none lost or out of order; "
            f"memory {self.risen / 1e6:+.1f} MB at its highest, "
            f"{(self.after.resident - self.before.resident) / 1e6:+.1f} MB at the end, "
            f"{self.more_pieces:+d} pieces a session in use; no process left."
        )


async def soak(limit: Callable[[], GoOn]) -> Outcome:
    """Stream within a limit, which begins when everything is warm, and check everything. Raises Failed."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "PORTICO_HOME": folder, _MARK: mark}
        environ.pop("PORTICO_TAP", None)
        async with open_host(environ) as host:
            sessions = [
                await _start(host, Path(folder) / f"work{number % AGENTS}") for number in range(SESSIONS)
            ]
            await _stream(host, sessions, lambda turns: turns < WARM_UP)
            agents = _agents()
            _expect(len(agents) == AGENTS, f"{len(agents)} agents instead of {AGENTS}")
            before, started = at_rest(), time.monotonic()
            with HighestLevel() as highest:
                turns = await _stream(host, sessions, limit())
            seconds = time.monotonic() - started
            outcome = Outcome(turns, seconds, highest.resident - before.resident, before, at_rest())
            _expect(_agents() == agents, "an agent was lost on the way")
            problems = await host.store.verify()
        _expect(not problems, f"the log is not whole: {problems[:3]}")
        _expect(outcome.risen < HIGHEST_RISE, f"memory rose by {outcome.risen / 1e6:.1f} MB")
        _expect(outcome.more_pieces < MORE_PIECES, f"{outcome.more_pieces} pieces are kept for each session")
        left = await asyncio.to_thread(_left_behind, mark)
        _expect(not left, f"left behind: {left}")
    return outcome


def for_seconds(seconds: float) -> Callable[[], GoOn]:
    def begin() -> GoOn:
        end = time.monotonic() + seconds
        return lambda _: time.monotonic() < end

    return begin


def for_turns(count: int) -> Callable[[], GoOn]:
    return lambda: lambda turns: turns < count


async def _start(host: Host, workspace: Path) -> SessionId:
    await asyncio.to_thread(workspace.mkdir, exist_ok=True)
    spec = AgentSpec(name="scripted", command=scripted_agent_command())
    return await host.service.start(workspace, spec, reads_only=True)


async def _stream(host: Host, sessions: list[SessionId], go_on: GoOn) -> int:
    """Turns of all sessions side by side; how many there were."""

    async def one(session_id: SessionId) -> int:
        turns = 0
        while go_on(turns):
            await _turn(host, session_id)
            turns += 1
        return turns

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(session_id), name=session_id) for session_id in sessions]
    return sum(task.result() for task in tasks)


async def _turn(host: Host, session_id: SessionId) -> None:
    """One turn, watched by a door that compares every word."""
    summary = await host.service.show(session_id)
    prompt = TurnPrompt(text=f"stream {DELTAS} {SIZE} {PAUSE_MS}")
    async with asyncio.TaskGroup() as group:
        door = group.create_task(_watch(host, session_id, summary.last_seq), name="door")
        ended = await host.service.session(session_id).prompt(prompt)
    _expect(ended.state is TurnState.COMPLETED, f"a turn ended {ended.state}")
    _expect(door.result() == len(ANSWER), f"session {session_id} got {door.result()} characters")


async def _watch(host: Host, session_id: SessionId, after_seq: int) -> int:
    """Length of the received answer. Compared text is dropped: a hundred answers would need much memory."""
    heard = 0
    expected = after_seq + 1
    async for event in host.service.watch(session_id, after_seq=after_seq):
        _expect(event.seq == expected, f"event {event.seq} came instead of {expected}")
        expected += 1
        if isinstance(event.payload, TextDelta):
            _expect(ANSWER.startswith(event.payload.text, heard), f"session {session_id} got other words")
            heard += len(event.payload.text)
        if ends_turn(event):
            break
    return heard


def _agents() -> set[int]:
    children = psutil.Process().children()
    return {child.pid for child in children if "portico.testing.agent" in child.cmdline()}


def _left_behind(mark: str) -> list[psutil.Process]:
    """Whatever this run started, or what it started in turn, that does not end by itself in a moment."""
    running = psutil.process_iter(["environ"])
    marked = [process for process in running if (process.info["environ"] or {}).get(_MARK) == mark]
    return psutil.wait_procs(marked, timeout=_SECONDS_TO_END)[1]


def _expect(true: bool, complaint: str) -> None:
    if not true:
        raise Failed(complaint)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="Stream in a hundred sessions.")
    parser.add_argument("seconds", nargs="?", type=float, default=SECONDS, help=f"default: {SECONDS:g}")
    parser.add_argument("--turns", type=int, help="so many turns in each session, instead of a time")
    flags = parser.parse_args()
    limit = for_seconds(flags.seconds) if flags.turns is None else for_turns(flags.turns)
    code = 0
    try:
        print(asyncio.run(soak(limit)))
    except* Failed as failures:
        code = 1
        print("Failed:", *set(_complaints(failures)), sep="\n  ", file=sys.stderr)
    return code


def _complaints(failures: BaseExceptionGroup[Failed]) -> Iterator[str]:
    for one in failures.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _complaints(one)
        else:
            yield str(one)


if __name__ == "__main__":
    sys.exit(main())
