"""Several processes in one folder, also when one of them is killed."""

import sys
from pathlib import Path

import pytest

from portico.domain.ids import SessionId
from portico.store.sqlite import SqliteStore
from tests.store.processes import running
from tests.store.support import ALPHA, started


async def test_processes_that_open_a_fresh_folder_at_once_all_write_to_it(folder: Path) -> None:
    names = ["one", "two", "three", "four"]
    async with running("own_session", folder, *names) as programs:
        for program in programs:
            assert await program.line() == "ready"
        for program in programs:
            program.go()
        for program in programs:
            assert await program.line() == "written"
            assert await program.ended() == 0
    store = SqliteStore(folder)
    await store.open()
    for name in names:
        assert len(await store.read(SessionId(name), after_seq=0, limit=99)) == 21
    assert await store.verify() == []
    await store.close()


async def test_of_processes_that_continue_one_session_at_once_exactly_one_wins(
    store: SqliteStore, folder: Path
) -> None:
    await store.append([started()], durable=False)
    async with running("contend", folder, "one", "two", "three") as programs:
        for program in programs:
            assert await program.line() == "ready"
        for program in programs:
            program.go()
        words = [await program.line() for program in programs]
    assert words.count("won") == 1
    assert sum("Another process continued session alpha" in each for each in words) == 2
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 2
    assert await store.verify() == []


@pytest.mark.parametrize("moment", [1, 2, 10, 41])
async def test_what_a_killed_process_said_it_wrote_is_in_the_log(
    store: SqliteStore, folder: Path, moment: int
) -> None:
    async with running("stream", folder, "alpha") as (program,):
        while int(await program.line()) < moment:
            pass
        await program.kill()
        said = moment
        while word := await program.line():
            said = int(word)
    assert await store.verify() == []
    events = await store.read(ALPHA, after_seq=0, limit=100_000)
    assert len(events) >= said >= moment
    await store.append([started(SessionId("beta"))], durable=True)
    assert await store.verify() == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
async def test_a_write_the_system_refuses_leaves_a_whole_log_that_goes_on(folder: Path) -> None:
    async with running("fill", folder, "alpha") as (program,):
        assert "failed to read or write" in await program.line()
        written = int(await program.line())
        assert await program.ended() == 0
    assert written > 1
    store = SqliteStore(folder)
    await store.open()
    assert await store.verify() == []
    assert len(await store.read(ALPHA, after_seq=0, limit=9_999)) == written + 5
    await store.close()
