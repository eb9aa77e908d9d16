"""Programs in their own process groups: output, exit and kill."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from portico.processes import process_group
from portico.processes.descendants import Descendant, group_lives
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.sandbox.backends import BACKENDS as EVERY_BACKEND
from portico.sandbox.backends import SandboxBackend
from portico.sandbox.confinement import Confinement
from tests.rpc.process_tree import marked, members, new_mark, survivors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")

DEADLINE = 20


class Spawner:
    """Starts programs that carry one mark, and ends them after the test."""

    def __init__(self, folder: Path) -> None:
        self.mark = new_mark()
        self._folder = folder
        self._groups: list[ProcessGroup] = []

    async def __call__(
        self, *command: str, environ: Mapping[str, str] | None = None, **options: Any
    ) -> ProcessGroup:
        environment = marked({**os.environ, **(environ or {})}, self.mark)
        group = await spawn(command, cwd=self._folder, environ=environment, **options)
        self._groups.append(group)
        return group

    async def shell(self, text: str, **options: Any) -> ProcessGroup:
        return await self("sh", "-c", text, **options)

    async def python(self, text: str, **options: Any) -> ProcessGroup:
        return await self(sys.executable, "-c", text, **options)

    async def close(self) -> None:
        for group in self._groups:
            await group.stop(0)
        for process in members(self.mark):
            process.kill()

    async def nobody_is_left(self) -> bool:
        return await asyncio.to_thread(survivors, self.mark) == []


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Spawner]:
    spawner = Spawner(tmp_path)
    async with asyncio.timeout(3 * DEADLINE):
        yield spawner
    await spawner.close()


async def line(group: ProcessGroup) -> str:
    async with asyncio.timeout(DEADLINE):
        return (await group.stdout.readline()).decode().strip()


@pytest.mark.parametrize("attempt", range(20))
async def test_a_program_started_on_a_lifeline_that_is_cut_already_does_not_live(
    start: Spawner, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    class CutLifeline(process_group._Lifeline):
        def __init__(self) -> None:
            super().__init__()
            self.cut()

    monkeypatch.setattr(process_group, "_Lifeline", CutLifeline)
    groups = [await start.shell("sleep 1000 & (sleep 1000; true) & wait") for _ in range(3)]
    async with asyncio.timeout(DEADLINE):
        for group in groups:
            assert await group.wait() == "signal SIGKILL"
    assert await start.nobody_is_left()


@pytest.mark.parametrize("steps", range(8))
async def test_a_start_that_is_given_up_leaves_nothing_behind(start: Spawner, steps: int) -> None:
    starting = asyncio.create_task(start.shell("sleep 1000 & sleep 1000"))
    for _ in range(steps):
        await asyncio.sleep(0)
    if starting.cancel():
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(DEADLINE):
                await starting
        assert await start.nobody_is_left()


@pytest.mark.parametrize(
    ("text", "ending"),
    [("exit 0", "exit code 0"), ("exit 3", "exit code 3"), ("kill -KILL $$", "signal SIGKILL")],
)
async def test_how_a_program_ended_is_told_in_words(start: Spawner, text: str, ending: str) -> None:
    assert await (await start.shell(text)).wait() == ending


async def test_exit_code_and_signal_can_be_told_apart(start: Spawner) -> None:
    left, killed = await start.shell("exit 7"), await start.shell("kill -TERM $$")
    await left.wait()
    await killed.wait()
    assert (left.exit_code, left.signal) == (7, None)
    assert (killed.exit_code, killed.signal) == (None, "SIGTERM")


async def test_a_program_that_hears_the_request_may_end_in_its_own_way(start: Spawner) -> None:
    group = await start.shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 1000 & wait $!; done")
    assert await line(group) == "up"
    await group.stop(DEADLINE)
    assert not group_lives(group.pid)
    assert await group.wait() == "exit code 3"
    assert await line(group) == "bye"


async def test_a_program_that_ignores_the_request_is_killed_after_the_grace_time(start: Spawner) -> None:
    group = await start.shell("trap '' TERM; echo up; sleep 1000")
    assert await line(group) == "up"
    await group.stop(0.05)
    assert await group.wait() == "signal SIGKILL"
    assert members(start.mark) == []


async def test_a_second_stop_hurries_the_first(start: Spawner) -> None:
    group = await start.shell("trap '' TERM; echo up; sleep 1000")
    assert await line(group) == "up"
    patient = asyncio.create_task(group.stop(1000))
    await asyncio.sleep(0)
    await group.stop(0)
    await patient
    assert members(start.mark) == []


async def test_a_cancelled_stop_leaves_nothing_behind(start: Spawner) -> None:
    group = await start.shell("trap 'echo asked' TERM; echo up; while :; do sleep 1000 & wait $!; done")
    assert await line(group) == "up"
    patient = asyncio.create_task(group.stop(1000))
    assert await line(group) == "asked"
    patient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await patient
    assert await start.nobody_is_left()


async def test_children_and_grandchildren_end_with_the_program(start: Spawner) -> None:
    group = await start.shell("sleep 1000 & (sh -c 'sleep 1000 & echo up; wait'; true) & wait")
    assert await line(group) == "up"
    assert len(members(start.mark)) >= 5
    await group.stop(0)
    assert members(start.mark) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the children of a process")
@pytest.mark.parametrize("grace", [0, DEADLINE])
async def test_a_grandchild_that_left_the_group_ends_too(start: Spawner, grace: float) -> None:
    group = await start.python(
        "import subprocess, sys\n"
        "hold = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        ' print("up", flush=True); time.sleep(1000)\'\n'
        "subprocess.Popen([sys.executable, '-c', hold], start_new_session=True).wait()"
    )
    assert await line(group) == "up"
    await group.stop(grace)
    assert members(start.mark) == []


async def test_what_a_program_leaves_behind_is_swept_and_its_last_words_can_be_read(start: Spawner) -> None:
    group = await start.shell("sleep 1000 & echo last; exit 0")
    assert await group.wait() == "exit code 0"
    await group.sweep()
    assert members(start.mark) == []
    assert await group.stdout.read() == b"last\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_stop_returns_only_when_what_was_left_behind_is_gone(start: Spawner) -> None:
    group = await start.shell("sleep 1000 >/dev/null 2>&1 & echo $!")
    left_behind = Descendant.of(int(await line(group)))
    assert left_behind is not None
    assert await group.stdout.read() == b""
    await group.wait()
    await group.stop(0)
    assert not left_behind.is_alive()


async def test_the_end_of_output_is_seen_while_the_program_runs_on(start: Spawner) -> None:
    group = await start.shell("exec >&- 2>&-; read -r _")
    assert group.stderr is not None
    async with asyncio.timeout(DEADLINE):
        assert await group.stdout.read() == b""
        assert await group.stderr.read() == b""
    assert group.running


async def test_the_end_of_input_is_seen_by_the_program(start: Spawner) -> None:
    group = await start.shell("cat; echo ended")
    assert group.stdin is not None
    group.stdin.close()
    assert await line(group) == "ended"


async def test_a_program_has_no_children_it_does_not_know(start: Spawner) -> None:
    group = await start.python("import os\ntry: os.wait()\nexcept ChildProcessError: print('none')")
    assert await line(group) == "none"


async def test_a_program_leads_a_session_of_its_own_and_ignores_nothing(start: Spawner) -> None:
    group = await start.python(
        "import os, signal\n"
        "print(os.getsid(0) == os.getpgrp() == os.getpid(), signal.getsignal(signal.SIGTERM).name,"
        " signal.getsignal(signal.SIGHUP).name)"
    )
    assert await line(group) == "True SIG_DFL SIG_DFL"


async def test_a_program_inherits_its_pipes_and_the_lifeline_only(start: Spawner) -> None:
    group = await start.python(
        "import fcntl\n"
        "for number in range(256):\n"
        "    try: print(number, fcntl.fcntl(number, fcntl.F_GETFL))\n"
        "    except OSError: pass"
    )
    numbers = [tuple(map(int, line.split())) for line in (await group.stdout.read()).splitlines()]
    assert [number for number, _ in numbers[:3]] == [0, 1, 2]
    assert len(numbers) == 4
    _, flags = numbers[3]
    assert flags & os.O_ACCMODE == os.O_RDONLY


async def test_every_variable_arrives_even_with_a_name_that_no_shell_knows(start: Spawner) -> None:
    odd = {"with.dot": "1 2", "with-dash": "'", "npm_config_@scope:registry": "$HOME"}
    group = await start.python(f"import os; print({odd!r}.items() <= os.environ.items())", environ=odd)
    assert await line(group) == "True"


async def test_arguments_arrive_unchanged(start: Spawner) -> None:
    words = ("a b", "", "$HOME", "'\"", "*", "-n", "line\nbreak", "ü")
    group = await start(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
    assert await line(group) == ascii(list(words))


async def test_merged_output_is_one_stream_and_input_is_empty(start: Spawner) -> None:
    group = await start.shell("cat; echo out; echo err >&2; echo out", merged=True)
    assert group.stdin is None
    assert group.stderr is None
    assert await group.stdout.read() == b"out\nerr\nout\n"


async def test_megabytes_pass_through_both_ways(start: Spawner) -> None:
    group = await start.shell("cat")
    assert group.stdin is not None
    data = os.urandom(1024 * 1024) * 8
    group.stdin.write(data)
    group.stdin.close()
    assert await group.stdout.read() == data


async def test_output_that_nobody_reads_does_not_hold_up_the_stop(start: Spawner) -> None:
    group = await start.shell("yes")
    async with asyncio.timeout(DEADLINE):
        await group.stdout.readline()
        await group.stop(DEADLINE)
    assert members(start.mark) == []


def open_descriptors() -> int:
    return psutil.Process().num_fds()


async def test_a_daemon_that_got_away_holds_up_no_stop_and_no_descriptor(start: Spawner) -> None:
    await (await start.shell("exit 0")).stop(0)
    before = open_descriptors()
    daemon = "import os, time; os.setsid(); print('up', flush=True); time.sleep(1000)"
    group = await start.python(f"import os\nif os.fork() == 0: exec({daemon!r})")
    assert await line(group) == "up"
    async with asyncio.timeout(DEADLINE):
        await group.wait()
        await group.stop(DEADLINE)
        assert await group.stdout.read() == b""
    assert open_descriptors() == before


@pytest.mark.parametrize("size", [3, 500_000])
async def test_the_output_of_a_swept_program_ends_though_a_daemon_that_got_away_holds_it(
    start: Spawner, size: int
) -> None:
    group = await start.python(
        "import os, time\n"
        "heard, ready = os.pipe()\n"
        "if os.fork() == 0: os.setsid(); os.write(ready, b'.'); time.sleep(1000)\n"
        f"os.read(heard, 1); os.write(1, b'x' * {size})"
    )
    async with asyncio.timeout(DEADLINE):
        await group.wait()
        await group.sweep()
        assert await group.stdout.read() == b"x" * size


async def test_no_descriptor_is_left_open_here(start: Spawner) -> None:
    await (await start.shell("exit 0")).stop(0)
    before = open_descriptors()
    for _ in range(5):
        await (await start.shell("sleep 1000 & sleep 1000")).stop(0)
        with pytest.raises(CannotRun):
            await start.shell("exit 0", environ={"bad=name": "1"})
    assert open_descriptors() == before


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"the folder .*gone does not exist"):
        await spawn(("sh",), cwd=tmp_path / "gone", environ=os.environ)


@pytest.mark.parametrize("argument", ["nul\0", "x" * 3_000_000], ids=["a NUL character", "far too long"])
async def test_an_argument_no_program_could_take_is_refused(start: Spawner, argument: str) -> None:
    with pytest.raises(CannotRun, match="could not be started"):
        await start("echo", argument)


# That of macOS cannot be tried elsewhere.
BACKENDS = EVERY_BACKEND[:2]
WRAPPED = pytest.mark.parametrize("backend", BACKENDS, ids=[backend.name for backend in BACKENDS])
BOTH = Confinement(temporary=None)


@pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes that can be tried are Linux's")
@WRAPPED
async def test_a_confined_program_is_asked_to_end_before_its_sandbox_is(
    start: Spawner, backend: SandboxBackend
) -> None:
    polite = "trap 'echo goodbye; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    group = await start.shell(polite, wrapper=backend.wrapper(BOTH))
    assert await line(group) == "up"
    await group.stop(DEADLINE)
    assert await line(group) == "goodbye"
    assert group.exit_code == 3
    assert await start.nobody_is_left()


@pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes that can be tried are Linux's")
@WRAPPED
async def test_a_confined_program_that_does_not_want_to_end_is_killed_with_all_that_left_it(
    start: Spawner, backend: SandboxBackend
) -> None:
    family = "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo up; wait; wait; sleep 1000"
    group = await start.shell(family, wrapper=backend.wrapper(BOTH))
    assert await line(group) == "up"
    await group.stop(0)
    assert await start.nobody_is_left()
