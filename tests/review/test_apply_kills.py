"""An apply that ends in the middle, by a kill or a failing disk: the folder is as before or as asked, never between."""

import contextlib
import errno
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portico.domain.errors import PorticoError, StoreFailed
from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.files.disk import Disk
from portico.review.text.change_set import ChangeSet
from tests.review.folders import Seen, change, fill, seen
from tests.review.killed_applies import CHANGES, both_states

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes are POSIX")

WRITING = ("write_new", "keep", "rename", "remove", "make_folder", "remove_folder", "sync_folder")


class Killed(BaseException):
    """Next step of a killed process: nothing."""


class FailingDisk(Disk):
    """Comes to a bad end at one of its calls: killed for good, or refused once."""

    def __init__(self, at: int, failure: type[BaseException] | OSError) -> None:
        self.calls = 0
        self._at = at
        self._failure = failure
        for name in WRITING:
            setattr(self, name, self._counted(name, getattr(self, name)))

    def _counted(self, name: str, call: Callable[..., None]) -> Callable[..., None]:
        def counted(*arguments: Any) -> None:
            self.calls += 1
            if self.calls > self._at and not isinstance(self._failure, OSError):
                raise self._failure
            if self.calls == self._at:
                if name == "write_new":
                    half = arguments[1][: len(arguments[1]) // 2]
                    call(arguments[0], half, *arguments[2:])
                if isinstance(self._failure, OSError):
                    raise self._failure
                if name == "write_new":
                    raise self._failure
            call(*arguments)

        return counted


@pytest.fixture
def states(tmp_path: Path) -> tuple[Seen, Seen, ChangeSet]:
    return both_states(tmp_path)


def _moments(
    home: Path, start: Callable[[Applier], object], failure: type[BaseException] | OSError
) -> Iterator[int]:
    """Every call at which a failing disk can fail, until the work gets through without."""
    for at in range(1, 500):
        disk = FailingDisk(at, failure)
        try:
            start(Applier(home / "state", disk=disk))
        except (Killed, PorticoError):
            pass
        yield at
        if disk.calls < at:
            return
    pytest.fail("The work never got through.")


def test_a_kill_at_any_call_of_an_apply_leaves_the_folder_before_or_after(
    tmp_path: Path, states: tuple[Seen, Seen, ChangeSet]
) -> None:
    before, after, undo = states
    work, found = tmp_path / "work", []
    for _ in _moments(tmp_path, lambda applier: applier.apply(work, CHANGES), Killed):
        Applier(tmp_path / "state").recover()
        found.append(seen(work))
        assert [one.name for one in (tmp_path / "state").iterdir()] == ["apply.lock"]
        if found[-1] == after:
            Applier(tmp_path / "state").apply(work, undo)
        assert found[-1] in (before, after)
    assert found.count(before) > 20
    assert found.count(after) > 3


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_a_kill_of_the_recovery_is_recovered_from(
    tmp_path: Path, states: tuple[Seen, Seen, ChangeSet], at: int
) -> None:
    before, after, undo = states
    work = tmp_path / "work"
    for _ in _moments(tmp_path, lambda applier: applier.apply(work, CHANGES), Killed):
        with contextlib.suppress(Killed):
            Applier(tmp_path / "state", disk=FailingDisk(at, Killed)).recover()
        taken_back = Applier(tmp_path / "state").recover().taken_back
        assert not any(one.edits for one in taken_back), "Nobody else wrote anything."
        assert seen(work) in (before, after)
        assert [one.name for one in (tmp_path / "state").iterdir()] == ["apply.lock"]
        if seen(work) == after:
            Applier(tmp_path / "state").apply(work, undo)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_full_or_failing_disk_at_any_call_backs_out_and_says_so(
    tmp_path: Path, states: tuple[Seen, Seen, ChangeSet], number: int
) -> None:
    before, after, undo = states
    work = tmp_path / "work"

    def apply(applier: Applier) -> None:
        failures: list[PorticoError] = []
        try:
            outcome = applier.apply(work, CHANGES)
        except PorticoError as error:
            failures.append(error)
        else:
            assert isinstance(outcome, AppliedChanges)
            Applier(tmp_path / "state").recover()
            assert seen(work) == after
            Applier(tmp_path / "state").apply(work, undo)
        for failure in failures:
            assert "everything is as it was" in failure.message
            assert ".portico-" not in failure.message
            assert isinstance(failure, StoreFailed) == (number == errno.ENOSPC)
        assert seen(work) == before

    for _ in _moments(tmp_path, apply, OSError(number, "refused")):
        assert [one.name for one in (tmp_path / "state").iterdir()] == ["apply.lock"]


@pytest.mark.parametrize("at", [3, 40, 110, 170])
def test_a_disk_that_fills_up_among_many_files_leaves_none_of_them_changed(tmp_path: Path, at: int) -> None:
    work = tmp_path / "work"
    fill(work, {f"d{number % 5}/{number}": (b"old", 0o644) for number in range(80)})
    before = seen(work)
    changes = ChangeSet(tuple(change(f"d{number % 5}/{number}", b"old", b"new") for number in range(80)))
    disk = FailingDisk(at, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(StoreFailed, match="No space left"):
        Applier(tmp_path / "state", disk=disk).apply(work, changes)
    assert seen(work) == before


def test_an_interrupt_by_the_person_takes_back_at_once(tmp_path: Path) -> None:
    class Interrupted(Disk):
        def keep(self, path: Path, kept: Path) -> None:
            if path.name == "b":
                raise KeyboardInterrupt
            super().keep(path, kept)

    work = tmp_path / "work"
    fill(work, {"a": (b"old", 0o644), "b": (b"old", 0o644)})
    changes = ChangeSet((change("a", b"old", b"new"), change("b", b"old", b"new")))
    with pytest.raises(KeyboardInterrupt):
        Applier(tmp_path / "state", disk=Interrupted()).apply(work, changes)
    assert seen(work) == {"a": (b"old", 0o644), "b": (b"old", 0o644)}


def test_what_a_person_wrote_after_the_kill_stays_theirs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_bytes(b"old a\n")
    (work / "b").write_bytes(b"old b\n")
    changes = ChangeSet((change("a", b"old a\n", b"new a\n"), change("b", b"old b\n", b"new b\n")))
    for at in range(1, 100):
        with pytest.raises(Killed):
            Applier(tmp_path / "state", disk=FailingDisk(at, Killed)).apply(work, changes)
        if (work / "a").read_bytes() == b"new a\n":
            break
        Applier(tmp_path / "state").recover()
    (work / "a").write_bytes(b"mine\n")
    recovered = Applier(tmp_path / "state").recover()
    assert [edit.path for one in recovered.taken_back for edit in one.edits] == ["a"]
    assert seen(work) == {"a": (b"mine\n", 0o644), "b": (b"old b\n", 0o644)}


def test_a_folder_that_is_away_is_brought_back_when_it_is_there_again(tmp_path: Path) -> None:
    before, _, _ = both_states(tmp_path)
    work = tmp_path / "work"
    with pytest.raises(Killed):
        Applier(tmp_path / "state", disk=FailingDisk(15, Killed)).apply(work, CHANGES)
    work.rename(tmp_path / "away")
    assert Applier(tmp_path / "state").recover().unfinished == (str(work),)
    (tmp_path / "away").rename(work)
    assert [one.root for one in Applier(tmp_path / "state").recover().taken_back] == [str(work)]
    assert seen(work) == before
