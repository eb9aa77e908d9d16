"""A right that one process has at a time, and that a dead process cannot keep."""

import os
import shutil
import threading
from pathlib import Path

import psutil

from portico.files.leases import FileLeases
from portico.store.sqlite import SqliteStore
from tests.store.processes import running

TREE = "tree /work"


async def test_a_lease_of_another_process_is_refused_and_its_holder_named(folder: Path) -> None:
    store = SqliteStore(folder)
    async with running("hold", folder, TREE) as (other,):
        assert (await other.line()).startswith("held")
        assert await store.lease(TREE, "this process") is None
        assert await store.lease_holder(TREE) == "the other process"


async def test_a_killed_process_loses_its_lease_though_its_child_lives_on(folder: Path) -> None:
    store = SqliteStore(folder)
    async with running("hold", folder, TREE) as (other,):
        word, child_pid = (await other.line()).split()
        assert word == "held"
        child = psutil.Process(int(child_pid))
        try:
            await other.kill()
            assert child.status() != psutil.STATUS_ZOMBIE
            assert await store.lease_holder(TREE) is None
            lease = await store.lease(TREE, "this process")
            assert lease is not None
            assert await store.lease_holder(TREE) == "this process"
            lease.release()
        finally:
            child.kill()


async def test_two_stores_in_one_process_exclude_each_other(folder: Path) -> None:
    first, second = SqliteStore(folder), SqliteStore(folder)
    lease = await first.lease(TREE, "the first")
    assert lease is not None
    assert await second.lease(TREE, "the second") is None
    assert await second.lease_holder(TREE) == "the first"
    lease.release()
    assert await second.lease_holder(TREE) is None


def test_a_lease_whose_folder_was_removed_takes_nothing_from_whoever_came_after(tmp_path: Path) -> None:
    folder = tmp_path / "leases"
    leases = FileLeases(folder)
    first = leases.take(TREE, "the first")
    assert first is not None
    assert first.is_in_place
    shutil.rmtree(folder)
    assert not first.is_in_place
    second = leases.take(TREE, "the second")
    assert second is not None
    first.release()
    assert leases.holder(TREE) == "the second"
    assert second.is_in_place
    second.release()
    assert leases.holder(TREE) is None


def test_a_lease_whose_folder_was_removed_does_not_make_it_anew(tmp_path: Path) -> None:
    lease = FileLeases(tmp_path / "leases").take(TREE, "a test")
    assert lease is not None
    shutil.rmtree(tmp_path / "leases")
    lease.release()
    assert list(tmp_path.iterdir()) == []


def test_a_released_lease_leaves_no_file_of_its_own(folder: Path) -> None:
    leases = FileLeases(folder)
    for number in range(3):
        lease = leases.take(f"session {number}", "a test")
        assert lease is not None
        lease.release()
    assert [path.name for path in folder.iterdir()] == ["gate.lock"]


def test_a_file_left_by_a_dead_process_neither_blocks_nor_names_anybody(folder: Path) -> None:
    leases = FileLeases(folder)
    lease = leases.take(TREE, "a rather long-winded holder")
    assert lease is not None
    (path,) = folder.glob("[!g]*.lock")
    lease.release()
    path.write_text("somebody long gone, with a long name to overwrite")
    assert leases.holder(TREE) is None
    lease = leases.take(TREE, "me")
    assert lease is not None
    assert leases.holder(TREE) == "me"
    lease.release()


def test_leases_are_not_handed_down_to_children(folder: Path) -> None:
    before = open_descriptors()
    lease = FileLeases(folder).take(TREE, "a test")
    assert lease is not None
    (descriptor,) = open_descriptors() - before
    assert not os.get_inheritable(descriptor)
    lease.release()
    assert open_descriptors() == before


def open_descriptors() -> set[int]:
    found = set()
    for descriptor in range(256):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        found.add(descriptor)
    return found


def test_asking_for_the_holder_never_turns_a_taker_away(folder: Path) -> None:
    leases = FileLeases(folder)
    ask = threading.Event()
    ask.set()

    def keep_asking() -> None:
        while ask.is_set():
            leases.holder(TREE)

    asking = [threading.Thread(target=keep_asking) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(300):
            lease = leases.take(TREE, "the taker")
            assert lease is not None
            lease.release()
    finally:
        ask.clear()
        for thread in asking:
            thread.join()


def test_of_takers_at_once_one_at_a_time_has_the_lease(folder: Path) -> None:
    leases = FileLeases(folder)
    line = threading.Barrier(4)
    inside = 0
    most = 0
    taken = 0
    counting = threading.Lock()

    def take_often() -> None:
        nonlocal inside, most, taken
        line.wait(20)
        for _ in range(150):
            if lease := leases.take(TREE, "a taker"):
                with counting:
                    inside += 1
                    taken += 1
                    most = max(most, inside)
                with counting:
                    inside -= 1
                lease.release()

    threads = [threading.Thread(target=take_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert taken > 0
