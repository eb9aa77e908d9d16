"""A program that starts others as Portico does and then dies by SIGKILL at a chosen moment.

Usage: python orphan_host.py MOMENT
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import psutil

from portico.processes.process_group import ProcessGroup, spawn
from portico.sandbox import bubblewrap
from portico.sandbox.confinement import Confinement

HOLD = ("sleep", "1000")
FAMILY = ("sh", "-c", "sleep 1000 & (sleep 1000; true) & echo up; wait")
CHILD = "import time; print('up', flush=True); time.sleep(1000)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}], start_new_session=True)"
LEFT_GROUP = (sys.executable, "-c", PARENT)
STUBBORN = ("sh", "-c", "trap 'echo asked' TERM; echo up; while :; do sleep 1000 & wait $!; done")
KILLS_HOST = ("sh", "-c", "kill -KILL $PPID; sleep 1000")
SIGNALS_GROUP = (
    "sh",
    "-c",
    "trap '' TERM HUP INT USR1; for s in TERM HUP INT USR1; do kill -$s 0; done; echo up; sleep 1000",
)

DEAF = ("sh", "-c", "trap '' TERM HUP INT; echo up; exec sleep 1000")

LEAVERS = (
    "sh",
    "-c",
    "trap '' TERM HUP INT; setsid sleep 1000 & sleep 1000 & echo up; wait; wait; sleep 1000",
)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


async def start(command: Sequence[str]) -> ProcessGroup:
    return await spawn(command, cwd=Path.cwd(), environ=os.environ)


async def until_says(group: ProcessGroup, word: bytes) -> None:
    while (await group.stdout.readline()).strip() != word:
        pass


async def as_the_shell_starts() -> None:
    original = subprocess.Popen.__init__

    def start_and_die(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        die()

    subprocess.Popen.__init__ = start_and_die  # type: ignore[method-assign]
    await start(HOLD)


async def once_spawned() -> None:
    await start(HOLD)
    die()


async def by_the_program_itself() -> None:
    await (await start(KILLS_HOST)).wait()


async def with_a_family() -> None:
    await until_says(await start(FAMILY), b"up")
    die()


async def with_a_child_that_left_the_group() -> None:
    await until_says(await start(LEFT_GROUP), b"up")
    die()


async def after_signals_to_the_whole_group() -> None:
    await until_says(await start(SIGNALS_GROUP), b"up")
    die()


async def while_stopping_a_stubborn_one() -> None:
    group = await start(STUBBORN)
    await until_says(group, b"up")
    stopping = asyncio.create_task(group.stop(1000))
    await until_says(group, b"asked")
    die()
    await stopping


async def after_the_program_ended() -> None:
    group = await start(("sh", "-c", "sleep 1000 & exit 0"))
    await group.wait()
    die()


async def together_with_the_watcher() -> None:
    group = await start(DEAF)
    await until_says(group, b"up")
    _kill_watchers(group)
    die()


async def together_with_the_watcher_of_a_confined_family() -> None:
    group = await spawn(
        LEAVERS, cwd=Path.cwd(), environ=os.environ, wrapper=bubblewrap.wrapper(Confinement())
    )
    await until_says(group, b"up")
    _kill_watchers(group)
    die()


def _kill_watchers(group: ProcessGroup) -> None:
    """Kill every shell of the group that was left to watch over it."""
    for process in psutil.process_iter():
        if process.pid != group.pid and process.ppid() == 1 and os.getpgid(process.pid) == group.pid:
            process.kill()


async def whenever_the_parent_likes() -> None:
    while True:
        print("spawning", flush=True)
        await start(FAMILY)


MOMENTS = {
    moment.__name__: moment
    for moment in (
        as_the_shell_starts,
        once_spawned,
        by_the_program_itself,
        with_a_family,
        with_a_child_that_left_the_group,
        after_signals_to_the_whole_group,
        while_stopping_a_stubborn_one,
        after_the_program_ended,
        together_with_the_watcher,
        together_with_the_watcher_of_a_confined_family,
        whenever_the_parent_likes,
    )
}

if __name__ == "__main__":
    asyncio.run(MOMENTS[sys.argv[1]]())
