"""Missing or altered events in a log are found, counted and dated."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from portico.domain.errors import StoreFailed
from portico.domain.events import TextDelta
from portico.domain.ids import SessionId
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, BETA, deltas, event, raw_file, session

TIME = "2023-11-14T22:13:20"


async def opened(folder: Path) -> SqliteStore:
    store = SqliteStore(folder)
    await store.open()
    return store


async def written(folder: Path, *names: SessionId, length: int = 10) -> None:
    """A log with these sessions, closed in good order."""
    store = await opened(folder)
    for name in names:
        await store.append(session(name, length=length), durable=False)
    await store.close()


async def found_in(folder: Path) -> tuple[list[str], list[str]]:
    """Messages of the store when it is opened, and of `verify` then and after one more start."""
    store = await opened(folder)
    told = list(map(str, store.losses))
    problems = await store.verify()
    await store.close()
    again = await opened(folder)
    assert list(again.losses) == [], "it was told before"
    assert await again.verify() == problems
    await again.close()
    return told, problems


def keep(folder: Path) -> Path:
    return Path(shutil.copytree(folder, folder.with_name("kept")))


def put_back(folder: Path, kept: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
        if (kept / name).exists():
            shutil.copy(kept / name, folder / name)


async def test_a_database_that_was_emptied_names_every_session_it_had(folder: Path) -> None:
    await written(folder, ALPHA, BETA)
    (folder / "portico.db").write_bytes(b"")
    told, problems = await found_in(folder)
    assert told == problems
    assert problems == [
        f"session {name}: it is missing; it was in the log with 10 events until {TIME}.010Z"
        for name in (ALPHA, BETA)
    ]


async def test_a_write_ahead_log_that_was_deleted_is_missed(folder: Path) -> None:
    store = await opened(folder)
    await store.append(session(length=4), durable=True)
    await store.close()
    store = await opened(folder)
    await store.append(deltas(ALPHA, 5, 3), durable=True)
    await store.append(session(BETA, length=2), durable=True)
    killed = keep(folder)  # As a killed process leaves it, with all that is new in the write-ahead log.
    await store.close()
    (killed / "portico.db-wal").unlink()
    (killed / "portico.db-shm").unlink()
    told, problems = await found_in(killed)
    assert told == problems
    assert problems == [
        f"session alpha: 3 events missing: from event 5 to event 7 of {TIME}.007Z",
        f"session beta: it is missing; it was in the log with 2 events until {TIME}.002Z",
    ]


async def test_an_older_copy_in_the_place_of_the_log_is_found_out_and_can_go_on(folder: Path) -> None:
    await written(folder, ALPHA)
    kept = keep(folder)
    store = await opened(folder)
    await store.append(deltas(ALPHA, 11, 5), durable=False)
    await store.close()
    put_back(folder, kept, "portico.db")
    told, problems = await found_in(folder)
    assert told == problems == [f"session alpha: 5 events missing: from event 11 to event 15 of {TIME}.015Z"]
    store = await opened(folder)
    await store.append(deltas(ALPHA, 11, 9), durable=False)
    assert await store.verify() == problems, "what was lost stays lost, and what is new is whole"
    await store.accept_losses()
    assert await store.verify() == []
    await store.close()
    assert await found_in(folder) == ([], [])


async def test_the_log_of_another_store_is_not_taken_for_this_one(folder: Path, tmp_path: Path) -> None:
    await written(folder, ALPHA)
    other = tmp_path / "other"
    store = await opened(other)
    await store.append(session(ALPHA, length=10), durable=False)
    await store.append([event(ALPHA, 11, TextDelta(text="of another log"))], durable=False)
    await store.close()
    store = await opened(folder)
    await store.append(deltas(ALPHA, 11, 1), durable=False)
    await store.close()
    shutil.copy(other / "portico.db", folder / "portico.db")
    _, problems = await found_in(folder)
    assert problems == [
        f"session alpha: others are in the place of the 11 events that it had until {TIME}.011Z"
    ]


async def test_a_write_ahead_log_of_another_store_does_no_silent_harm(folder: Path, tmp_path: Path) -> None:
    await written(folder, ALPHA, BETA)
    other = tmp_path / "other"
    store = await opened(other)
    await store.append(session(SessionId("gamma"), length=30), durable=True)
    shutil.copy(other / "portico.db-wal", folder / "portico.db-wal")
    await store.close()
    _, problems = await found_in(folder)
    assert any("alpha" in problem for problem in problems), problems


async def test_a_database_that_was_cut_off_is_refused_and_missed_once_it_is_moved_away(folder: Path) -> None:
    await written(folder, ALPHA, length=2000)
    place = folder / "portico.db"
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    with pytest.raises(StoreFailed, match="is damaged"):
        await opened(folder)
    place.rename(folder / "damaged.db")
    told, _ = await found_in(folder)
    assert told == [
        f"session alpha: it is missing; it was in the log with 2000 events until {TIME[:-2]}22.000Z"
    ]


SWAP = "".join(f"UPDATE events SET seq = {new} WHERE seq = {old};" for old, new in ((5, 99), (6, 5), (99, 6)))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (
            """UPDATE events SET payload = '{"text":"other"}' WHERE seq = 5""",
            ["event 5 (text_delta) is not what was written"],
        ),
        ("UPDATE events SET at = at + 1 WHERE seq = 5", ["event 5 (text_delta) is not what was written"]),
        ("UPDATE events SET turn_id = 't2' WHERE seq = 5", ["event 5 (text_delta) is not what was written"]),
        (SWAP, [f"event {seq} (text_delta) is not what was written" for seq in (5, 6, 7)]),
        ("DELETE FROM events WHERE seq = 5", ["event 6 follows event 4"]),
        ("UPDATE sessions SET checksum = NULL", ["the events up to 10 are not those that were written"]),
        ("UPDATE events SET checksum = NULL WHERE seq = 5", []),
    ],
)
async def test_what_a_tool_changed_is_named(folder: Path, damage: str, expected: list[str]) -> None:
    await written(folder, ALPHA)
    with raw_file(folder) as file:
        file.executescript(damage)
    _, problems = await found_in(folder)
    assert [one.removeprefix("session alpha: ") for one in problems if "summary" not in one] == expected


async def test_a_session_whose_row_is_gone_is_missed(folder: Path) -> None:
    await written(folder, ALPHA, BETA)
    with raw_file(folder) as file:
        file.execute("DELETE FROM sessions WHERE session_id = 'alpha'")
    _, problems = await found_in(folder)
    assert problems == [
        f"session alpha: it is missing; it was in the log with 10 events until {TIME}.010Z",
        "there are events of number 1, which is not a session",
    ]


async def test_events_from_before_there_were_checksums_are_held_by_those_that_follow(folder: Path) -> None:
    await written(folder, ALPHA)
    with raw_file(folder) as file:
        file.execute("UPDATE events SET checksum = NULL")
    store = await opened(folder)
    await store.append(deltas(ALPHA, 11, 2), durable=False)
    assert await store.verify() == []
    with raw_file(folder) as file:
        file.execute("""UPDATE events SET payload = '{"text":"other"}' WHERE seq = 3""")
    assert await store.verify() == ["session alpha: one of the events 1 to 11 is not what was written"]
    await store.close()


async def test_a_copy_keeps_the_checksums_and_goes_its_own_way(folder: Path) -> None:
    await written(folder, ALPHA)
    store = await opened(folder)
    await store.copy(ALPHA, [event(BETA, 11, TextDelta(text="on its own"))])
    await store.append(deltas(BETA, 12, 3), durable=False)
    await store.append(deltas(ALPHA, 11, 1), durable=False)
    assert await store.verify() == []
    await store.close()
    assert await found_in(folder) == ([], [])


async def test_a_record_that_is_gone_or_torn_raises_no_alarm(folder: Path) -> None:
    def cut(place: Path) -> None:
        place.write_bytes(place.read_bytes()[:-30] + b"\\0" * 50)

    harms: list[Callable[[Path], None]] = [Path.unlink, cut]
    for harm in harms:
        shutil.rmtree(folder, ignore_errors=True)
        await written(folder, ALPHA, BETA)
        harm(folder / "progress.ndjson")
        assert await found_in(folder) == ([], [])


async def test_a_record_stays_short_however_much_is_written(folder: Path) -> None:
    store = await opened(folder)
    await store.append(session(length=1), durable=False)
    await store.close()
    place = folder / "progress.ndjson"
    place.write_bytes(place.read_bytes() * 3000)
    assert await found_in(folder) == ([], [])
    assert place.stat().st_size < 1000


async def test_deleting_is_no_loss(folder: Path) -> None:
    await written(folder, ALPHA, BETA)
    store = await opened(folder)
    assert await store.delete(ALPHA)
    await store.close()
    assert await found_in(folder) == ([], [])
