"""Whatever is killed, at whatever moment: what was shown is in the log, nothing survives, and it goes on.

The moments are random, from seeds that are printed, so that a failure can be had again. Half of the sessions, chosen
by the same seeds, are continued after the kill. With PORTICO_EXPLORE all of them are, and 200 hosts are killed, not 80.
"""

import os
import random
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from portico.domain.ids import SessionId
from portico.doors.ndjson import NdjsonStream
from tests.support.frames import FrameWatch
from tests.support.killing import choose, measure, watch_until
from tests.support.processes import agents, survivors
from tests.support.program import Portico, Ran, Running, agent_command
from tests.support.stream import Stream
from tests.support.waiting import wait_until
from tests.support.warm import WarmPortico, warmed

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX"),
    pytest.mark.timeout(300),
]

PHASES = ("starting", "beginning", "streaming", "ending")
PROMPT = "stream 60 40 2"
ENDLESS = "stream 60 40 2\nhang"
KILLS = 20
SEEDS, CONTINUED = (10, 1.0) if "PORTICO_EXPLORE" in os.environ else (4, 0.5)


class Scene:
    """A folder of its own and one turn in it. The scenes of a test share a store."""

    def __init__(self, portico: Portico, folder: Path, prompt: str, *, remembers: bool) -> None:
        folder.mkdir()
        agent = agent_command(state=folder.parent / "agent") if remembers else agent_command()
        self._portico = portico
        self._folder = folder
        *self._words, self._prompt = portico.turn(prompt, "--agent-command", agent)

    def start(self) -> Running:
        return self._portico.start(*self._words, self._prompt, cwd=self._folder)

    async def check_aftermath(self, ended: Ran) -> None:
        """Nothing runs any more, the log is whole, and what was shown is in it, word for word."""
        assert survivors(self._portico.mark) == []
        stream = Stream(ended.out)
        print("    last shown:", " ".join(stream.types[-1:]) or "nothing")
        async with self._portico.store() as store:
            assert await store.verify() == []
            if stream.lines:
                events = await store.read(SessionId(stream.session_id), after_seq=0, limit=100_000)
                door = NdjsonStream()
                recorded = [door.line(event) for event in events]
                shown = ended.out.splitlines(keepends=True)[: len(stream.lines)]
                assert recorded[: len(shown)] == shown

    async def go_on(self) -> None:
        """`--continue` takes the session up again, if there was one."""
        async with self._portico.store() as store:
            found = await store.summaries(workspace=str(self._folder.resolve()), limit=2)
        ran = self._portico.run(*self._words, "--continue", "say on", cwd=self._folder)
        assert (
            survivors(self._portico.mark) == []
        )  # A late one would be killed in the place of the next agent.
        if not found:
            assert ran.code == 5
            return
        assert (ran.code, ran.stream.session_id) == (0, found[0].session_id)
        assert ran.stream.answer.endswith("on")


def kill_agent(portico: Portico) -> None:
    """Kill the agent, as soon as there is one."""
    found: list[psutil.Process] = []

    def look() -> bool:
        found[:] = agents(portico.mark)
        return bool(found)

    wait_until(look, "the agent's start")
    for agent in found:
        kill(agent)


def kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


@pytest.fixture(scope="module")
def line() -> Iterator[socket.socket]:
    with warmed() as line:
        yield line


@pytest.fixture
def warm_portico(
    own_home: Path, frame_watch: FrameWatch, tmp_path: Path, line: socket.socket
) -> Iterator[Portico]:
    program = WarmPortico(own_home, tmp_path, line)
    yield program
    program.close()


@pytest.mark.parametrize("seed", range(1))
async def test_a_host_that_is_killed_loses_nothing(portico: Portico, tmp_path: Path, seed: int) -> None:
    await kill_hosts(portico, tmp_path, seed)


@pytest.mark.parametrize("seed", range(1, SEEDS))
async def test_a_host_that_is_killed_when_all_is_imported_loses_nothing(
    warm_portico: Portico, tmp_path: Path, seed: int
) -> None:
    await kill_hosts(warm_portico, tmp_path, seed)


async def kill_hosts(portico: Portico, tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"host {seed}")
    pace = measure(Scene(portico, tmp_path / "measured", PROMPT, remembers=False).start)
    killed = tried = 0
    while killed < KILLS:
        moment = choose(chance, PHASES[killed % len(PHASES)], pace)
        print(f"seed {seed}, kill {killed}, {moment}")
        scene = Scene(portico, tmp_path / str(tried), PROMPT, remembers=tried % 2 == 0)
        running = scene.start()
        watch_until(running, moment)
        running.process.kill()
        ended = running.end()
        killed += ended.code == -signal.SIGKILL
        await scene.check_aftermath(ended)
        if chance.random() < CONTINUED:
            await scene.go_on()
        tried += 1
        assert tried < 3 * KILLS, "the turn is too short to be hit"


async def test_an_agent_that_is_killed_interrupts_the_turn(warm_portico: Portico, tmp_path: Path) -> None:
    chance = random.Random("agent 0")
    pace = measure(Scene(warm_portico, tmp_path / "measured", PROMPT, remembers=False).start)
    for number in range(KILLS):
        moment = choose(chance, PHASES[1 + number % 2], pace)
        print(f"kill {number}, {moment}")
        scene = Scene(warm_portico, tmp_path / str(number), ENDLESS, remembers=number % 4 < 2)
        running = scene.start()
        watch_until(running, moment)
        kill_agent(warm_portico)
        ended = running.end()
        assert (ended.code, ended.stream.error["code"]) == (2, "AGENT_CRASHED")
        assert "SIGKILL" in ended.stream.error["message"]
        assert ended.stream.result["state"] == "interrupted"
        await scene.check_aftermath(ended)
        if chance.random() < CONTINUED:
            await scene.go_on()


async def test_a_host_and_an_agent_that_are_killed_together_lose_nothing(
    warm_portico: Portico, tmp_path: Path
) -> None:
    chance = random.Random("both 0")
    pace = measure(Scene(warm_portico, tmp_path / "measured", PROMPT, remembers=False).start)
    for number in range(KILLS):
        moment = choose(chance, PHASES[1 + number % 2], pace)
        agent_first = chance.random() < 0.5
        print(f"kill {number}, {moment}, agent first: {agent_first}")
        scene = Scene(warm_portico, tmp_path / str(number), ENDLESS, remembers=number % 4 < 2)
        running = scene.start()
        watch_until(running, moment)
        if agent_first:
            kill_agent(warm_portico)
        running.process.kill()
        for agent in agents(warm_portico.mark):
            kill(agent)
        await scene.check_aftermath(running.end())
        if chance.random() < CONTINUED:
            await scene.go_on()
