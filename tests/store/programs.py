"""Actions of another process on a store, for the tests that are about processes.

Run as `python -m tests.store.programs NAME FOLDER`. A program says "ready" when it stands at the
line, and goes when it reads a line.
"""

import asyncio
import itertools
import subprocess
import sys
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, deltas, event, session, started

LONGEST_LIFE = 60


def say(words: object) -> None:
    print(words, flush=True)


def stand_at_the_line() -> None:
    say("ready")
    sys.stdin.readline()


async def own_session(folder: Path, name: str) -> None:
    """Open the folder and write a session in it."""
    stand_at_the_line()
    for first in range(1, 22, 3):
        store = SqliteStore(folder)
        await store.open()
        own = SessionId(name)
        batch = session(own, length=3) if first == 1 else deltas(own, first, 3)
        await store.append(batch, durable=False)
        await store.close()
    say("written")


async def contend(folder: Path, name: str) -> None:
    """Try to write the second event of a session that others want to write too."""
    store = SqliteStore(folder)
    await store.open()
    stand_at_the_line()
    try:
        await store.append([event(ALPHA, 2, TextDelta(text=name))], durable=False)
        say("won")
    except StoreFailed as failure:
        say(failure.message)
    await store.close()


async def stream(folder: Path, name: str) -> None:
    """Write without end, saying each number once it is in the log."""
    store = SqliteStore(folder)
    await store.open()
    await store.append([started(SessionId(name))], durable=False)
    say(1)
    for seq in itertools.count(2):
        await store.append(deltas(SessionId(name), seq, 1), durable=seq % 5 == 0)
        say(seq)


async def hold(folder: Path, name: str) -> None:
    """Take a lease and keep it, with a child that would keep every file it was given."""
    store = SqliteStore(folder)
    lease = await store.lease(name, "the other process")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"import threading; threading.Event().wait({LONGEST_LIFE})"),
        stdout=subprocess.DEVNULL,
        close_fds=False,
    )
    say(f"{'held' if lease else 'refused'} {child.pid}")
    sys.stdin.readline()


async def fill(folder: Path, name: str) -> None:
    """Write until the system lets the file grow no further, then go on once it may."""
    import resource

    store = SqliteStore(folder)
    await store.open()
    own = SessionId(name)
    await store.append([started(own)], durable=False)
    size = (folder / "portico.db-wal").stat().st_size
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 200_000, hard))
    written = 1
    try:
        for seq in itertools.count(2):
            await store.append([event(own, seq, TextDelta(text="x" * 3_000))], durable=seq % 2 == 0)
            written = seq
    except StoreFailed as failure:
        say(failure.message)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.append(deltas(own, written + 1, 5), durable=True)
    say(written)
    await store.close()


PROGRAMS = {program.__name__: program for program in (own_session, contend, stream, hold, fill)}

if __name__ == "__main__":
    asyncio.run(PROGRAMS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3]))
