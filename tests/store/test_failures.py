"""Bad days: each fails loudly, says what to do, and leaves a log that verifies and goes on."""

import errno
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import TextDelta
from portico.store.errors import store_failure
from portico.store.migrations import MIGRATIONS
from portico.store.sqlite import SqliteStore
from tests.store.support import ALPHA, BETA, bytes_left, deltas, event, lay_down, raw_file, session, started


def limit_pages(connection: sqlite3.Connection, more: int) -> None:
    (used,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {used + more}")


async def test_a_full_disk_fails_the_append_and_the_log_goes_on_once_there_is_room(
    store: SqliteStore,
) -> None:
    await store.append(session(length=3), durable=False)
    await store._writer.run(lambda connection: limit_pages(connection, 2))
    large = [event(ALPHA, seq, TextDelta(text="x" * 5_000)) for seq in range(4, 24)]
    for durable in (True, False):
        with pytest.raises(StoreFailed, match="is full") as caught:
            await store.append(large, durable=durable)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert "space" in (caught.value.suggestion or "")
    assert len(await store.read(ALPHA, after_seq=0, limit=99)) == 3
    assert await store.verify() == []
    await store._writer.run(lambda connection: limit_pages(connection, 1_000))
    await store.append(large, durable=True)
    assert await store.read(ALPHA, after_seq=3, limit=99) == large
    assert await store.verify() == []


async def test_a_locked_log_fails_the_append_and_works_again_once_it_is_free(folder: Path) -> None:
    store = SqliteStore(folder, busy_seconds=0)
    await store.open()
    await store.append([started()], durable=False)
    with raw_file(folder) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match="locked") as caught:
            await store.append(deltas(ALPHA, 2, 1), durable=False)
        with pytest.raises(StoreFailed, match="locked"):
            await store.delete(ALPHA)
        assert "Try again" in (caught.value.suggestion or "")
        assert await store.read(ALPHA, after_seq=0, limit=9) == [started()]
    await store.append(deltas(ALPHA, 2, 1), durable=False)
    assert await store.verify() == []
    await store.close()


async def test_a_fresh_file_that_another_process_is_just_preparing_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(folder, b"")
    with closing(sqlite3.connect(folder / "portico.db", check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        waits: list[float] = []

        def free_it(seconds: float) -> None:
            waits.append(seconds)
            other.rollback()

        monkeypatch.setattr(
            "portico.store.connection.time", SimpleNamespace(monotonic=time.monotonic, sleep=free_it)
        )
        store = SqliteStore(folder)
        await store.open()
    assert len(waits) == 1
    await store.append([started()], durable=False)
    assert await store.verify() == []
    await store.close()


async def test_a_fresh_file_that_stays_locked_is_an_error(folder: Path) -> None:
    lay_down(folder, b"")
    with closing(sqlite3.connect(folder / "portico.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = SqliteStore(folder, busy_seconds=0)
        with pytest.raises(StoreFailed, match="locked"):
            await store.open()
    await store.close()


@pytest.mark.parametrize(
    "content", [b"This is no database. " * 500, b"SQLite format 3\x00" + b"\xff" * 8_000]
)
async def test_a_file_that_is_no_log_is_refused_and_left_alone(folder: Path, content: bytes) -> None:
    lay_down(folder, content)
    store = SqliteStore(folder)
    with pytest.raises(StoreFailed, match="damaged, or is not a Portico log") as caught:
        await store.open()
    assert caught.value.suggestion
    assert bytes_left(folder) == content
    await store.close()


async def test_a_damaged_page_is_reported_by_verify_and_breaks_nothing_else(folder: Path) -> None:
    store = SqliteStore(folder)
    await store.open()
    await store.append(session(length=2_000), durable=False)
    await store.close()
    with (folder / "portico.db").open("r+b") as file:
        file.seek(12 * 4096)
        file.write(b"\xa5" * 4096)
    store = SqliteStore(folder)
    await store.open()
    problems = await store.verify()
    assert any("damaged" in problem or "cannot be read" in problem for problem in problems)
    with pytest.raises(StoreFailed, match="damaged"):
        await store.read(ALPHA, after_seq=0, limit=5_000)
    assert len(await store.summaries()) == 1
    await store.close()


async def test_a_log_of_a_newer_version_is_refused_with_both_numbers(folder: Path) -> None:
    store = SqliteStore(folder)
    await store.open()
    await store.append([started()], durable=False)
    await store.close()
    with raw_file(folder) as file:
        file.execute("PRAGMA user_version = 99")
    store = SqliteStore(folder)
    with pytest.raises(
        StoreFailed, match=rf"newer Portico \(schema 99, this one knows {len(MIGRATIONS)}\)"
    ) as caught:
        await store.open()
    assert "Upgrade Portico" in (caught.value.suggestion or "")
    await store.close()


async def test_a_newer_version_that_arrives_while_the_log_is_open_stops_writes_only(
    store: SqliteStore, folder: Path
) -> None:
    await store.append([started()], durable=False)
    with raw_file(folder) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreFailed, match="newer Portico"):
        await store.append(deltas(ALPHA, 2, 1), durable=False)
    with pytest.raises(StoreFailed, match="newer Portico"):
        await store.delete(ALPHA)
    assert await store.read(ALPHA, after_seq=0, limit=9) == [started()]


def take_away(folder: Path, how: str) -> None:
    aside = folder.rename(folder.with_name("aside"))
    if how != "folder removed":
        folder.mkdir()
    if how == "replaced":
        (folder / "portico.db").write_bytes((aside / "portico.db").read_bytes())


def bring_back(folder: Path) -> None:
    if folder.exists():
        (folder / "portico.db").unlink(missing_ok=True)
        folder.rmdir()
    folder.with_name("aside").rename(folder)


@pytest.mark.parametrize("how", ["removed", "replaced", "folder removed"])
async def test_a_log_that_is_taken_away_while_it_is_open_takes_no_more_and_can_still_be_read(
    folder: Path, how: str
) -> None:
    store = SqliteStore(folder)
    await store.open()
    await store.append(session(length=3), durable=True)
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 3
    take_away(folder, how)
    for change in (
        store.append(deltas(ALPHA, 4, 1), durable=True),
        store.copy(ALPHA, [event(BETA, 4, TextDelta(text="copied"))]),
        store.save_drafts(ALPHA, SessionDraft(draft="words", revision=1)),
        store.delete(ALPHA),
    ):
        with pytest.raises(StoreFailed, match="removed or replaced") as caught:
            await change
        assert "restart Portico" in (caught.value.suggestion or "")
    assert len(await store.read(ALPHA, after_seq=0, limit=9)) == 3
    bring_back(folder)
    await store.append(deltas(ALPHA, 4, 1), durable=True)
    assert await store.verify() == []
    await store.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = SqliteStore(tmp_path / "file" / "state")
    with pytest.raises(StoreFailed, match="cannot be opened") as caught:
        await store.open()
    assert str(tmp_path) in caught.value.message
    with pytest.raises(StoreFailed, match="cannot be opened"):
        await store.lease("session alpha", "a test")
    with pytest.raises(StoreFailed, match="cannot be opened"):
        await store.lease_holder("session alpha")
    await store.close()


async def test_a_summary_that_cannot_be_read_is_an_error_for_whoever_names_it_and_for_nobody_else(
    store: SqliteStore, folder: Path
) -> None:
    for name in (ALPHA, BETA):
        await store.append(session(name, length=2), durable=False)
    with raw_file(folder) as file:
        file.execute("UPDATE sessions SET state = 'dreaming' WHERE session_id = ?", (ALPHA,))
    with pytest.raises(StoreFailed, match="session alpha") as caught:
        await store.summary(ALPHA)
    assert caught.value.suggestion
    assert [one.session_id for one in await store.summaries()] == [BETA]


async def test_a_title_whose_bytes_are_no_text_is_shown_with_marks_and_the_session_goes_on(
    store: SqliteStore, folder: Path
) -> None:
    for name in (ALPHA, BETA):
        await store.append(session(name, length=2), durable=False)
    with raw_file(folder) as file:
        file.execute("UPDATE sessions SET title = CAST(x'4fff4b' AS TEXT) WHERE session_id = ?", (ALPHA,))
    assert {one.session_id: one.title for one in await store.summaries()} == {ALPHA: "O\ufffdK", BETA: ""}
    await store.append(deltas(ALPHA, 3, 1), durable=True)
    summary = await store.summary(ALPHA)
    assert summary is not None
    assert (summary.title, summary.last_seq) == ("O\ufffdK", 3)


@pytest.mark.parametrize("column", ["session_id", "workspace", "agent", "title", "state", "last_turn"])
async def test_whatever_a_damaged_session_has_for_text_keeps_nobody_from_the_others(
    store: SqliteStore, folder: Path, column: str
) -> None:
    for name in (ALPHA, BETA):
        await store.append(session(name, length=2), durable=False)
        await store.save_drafts(name, SessionDraft(draft="words", revision=1))
    for nonsense in ("CAST(x'ff' AS TEXT)", "x'ff'"):
        with raw_file(folder) as file:
            file.execute(f"UPDATE sessions SET {column} = {nonsense} WHERE number = 1")
        assert BETA in {one.session_id for one in await store.summaries()}
        assert set(await store.active_sessions()) <= {ALPHA, BETA}
        assert BETA in await store.drafted()
        assert not any("the rest" in problem for problem in await store.verify())


async def test_a_name_that_is_not_unicode_is_an_error_and_no_traceback(store: SqliteStore) -> None:
    with pytest.raises(StoreFailed, match="not Unicode"):
        await store.summaries(id_prefix="\ud800")


def test_a_log_that_may_not_be_written_is_told_from_a_broken_one(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE word (text)")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("INSERT INTO word VALUES ('no')")
        failure = store_failure(caught.value, path)
    assert "may not be written" in failure.message
    assert "PORTICO_HOME" in (failure.suggestion or "")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EACCES, "may not be written"),
        (errno.EROFS, "may not be written"),
        (errno.EIO, "failed to read or write"),
        (errno.EMFILE, "cannot be opened"),
    ],
)
def test_an_error_of_the_system_is_put_into_words(tmp_path: Path, number: int, words: str) -> None:
    assert words in store_failure(OSError(number, "as the system says"), tmp_path).message


def test_an_error_nobody_foresaw_still_asks_for_a_report(tmp_path: Path) -> None:
    failure = store_failure(sqlite3.ProgrammingError("odd"), tmp_path)
    assert "odd" in failure.message
    assert "report" in (failure.suggestion or "")
