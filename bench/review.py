"""Cost of a reviewed change: 1,000 files proposed and applied beside `git apply` and `git add`; a large diff beside git's.

Both change the same files of the same repository in the same way, in turns, and the files are compared with what
they should be. Git applies a patch and adds the files, synced to the disk, to a repository that has never seen them.
Portico finds what the agent changed, keeps that as a proposal, takes a checkpoint, puts the files in place so that a
kill at any moment leaves all or none, and takes another checkpoint.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from bench.report import Budget, Line, MeasurementFailed, Section, ratio
from bench.samples import Samples, sample, take_turns, time_in_turns
from portico.domain.events import ProposalUpdated
from portico.processes.clock import SystemClock
from portico.review.service import ReviewService
from portico.review.text.change_set import ChangeOperation, FileChange, FileContent
from portico.review.text.patch import unified_patch

FILES = 1_000
ROUNDS = 3
DIFF_BYTES = 5_000_000
DIFF_ROUNDS = 5
# One edit in so many lines of the large file, and how much longer than git's our diff may take then.
GAPS = {1_000: 3.0, 10: 8.0}
_LINES = 60
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "core.autocrlf=false")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that one change to all the files took: proposed and applied by Portico, applied and added by git."""

    proposed: float = 0.0
    applied: float
    added: float = 0.0


class _Work:
    """A repository of many files, and the change to make to it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self._patch = folder / "change.patch"
        for name, (old, _) in _files().items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(old)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=start")
        self.write(self.root)
        self._patch.write_bytes(self.git("diff"))
        self._reviews = ReviewService.at(folder / "state", os.environ, SystemClock())
        self._session = 0

    def git(self, *words: str) -> bytes:
        return subprocess.run((*_GIT, *words), cwd=self.root, capture_output=True, check=True).stdout

    def write(self, root: Path) -> None:
        for name, (_, new) in _files().items():
            (root / name).write_bytes(new)

    def by_git(self) -> Change:
        self._start_over()
        started = time.perf_counter()
        self.git("apply", str(self._patch))
        applied = time.perf_counter()
        self.git("-c", "core.fsync=all", "add", "--all")
        added = time.perf_counter()
        self._check()
        return Change(applied=applied - started, added=added - applied)

    def by_portico(self) -> Change:
        self._start_over()
        return asyncio.run(self._reviewed())

    async def _reviewed(self) -> Change:
        self._session += 1
        session = f"s{self._session}"
        review = await self._reviews.open(session, self.root, "proposal")
        await review.begin_turn("change all of it")
        self.write(review.folder)
        started = time.perf_counter()
        payloads = await review.end_turn()
        proposed = time.perf_counter() - started
        (proposal,) = (one for one in payloads if isinstance(one, ProposalUpdated))
        started = time.perf_counter()
        outcome = await self._reviews.apply(session, proposal.proposal_id, proposal.revision)
        applied = time.perf_counter() - started
        if outcome.proposal.status != "applied":
            raise MeasurementFailed(f"the proposal is {outcome.proposal.status}, not applied")
        self._check()
        await self._reviews.forget(session, self.root)
        return Change(proposed=proposed, applied=applied)

    def _start_over(self) -> None:
        """Undo the change, with what git keeps of it."""
        self.git("reset", "--quiet", "--hard")
        self.git("prune", "--expire=now")

    def _check(self) -> None:
        if any((self.root / name).read_bytes() != new for name, (_, new) in _files().items()):
            raise MeasurementFailed("not every file is what the change makes of it")


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        work = _Work(place)
        git, portico = take_turns({"git": work.by_git, "portico": work.by_portico}, ROUNDS).values()
        diffs = {gap: _diffs(place, gap) for gap in GAPS}
    applied_by_git = sample(git, lambda change: change.applied)
    added_by_git = sample(git, lambda change: change.added)
    both_by_git = sample(git, lambda change: change.applied + change.added)
    proposed = sample(portico, lambda change: change.proposed)
    applied = sample(portico, lambda change: change.applied)
    both = sample(portico, lambda change: change.proposed + change.applied)
    return Section(
        title=f"Review: a change to {FILES:,} files, and the diff of a file of {DIFF_BYTES / 1e6:.0f} MB",
        lines=(
            Line(what="git apply", samples=applied_by_git, unit="seconds"),
            Line(what="git add, with fsync", samples=added_by_git, unit="seconds"),
            Line(what="proposing", samples=proposed, unit="seconds"),
            Line(what="applying", samples=applied, unit="seconds"),
            ratio("  proposing and applying over git's both", both, both_by_git, Budget("at most", 3)),
            ratio("  proposing and applying over git apply", both, applied_by_git),
            *(line for gap, (theirs, ours) in diffs.items() for line in _lines(gap, theirs, ours)),
        ),
        notes=(
            "Applying takes a checkpoint before and after, and waits for the disk to have every file; git apply does neither.",
            "git diff is a process of its own, with --no-index; ours is one call.",
        ),
    )


def _lines(gap: int, theirs: Samples, ours: Samples) -> tuple[Line, ...]:
    what = f"an edit in every {gap:,} lines"
    return (
        Line(what=f"git diff, {what}", samples=theirs, unit="seconds"),
        Line(what=f"our diff, {what}", samples=ours, unit="seconds"),
        ratio("  ours over git's", ours, theirs, Budget("at most", GAPS[gap])),
    )


def _diffs(folder: Path, gap: int) -> tuple[Samples, Samples]:
    """Git's and ours, of a large file and a version of it with so many edits. Both make the same patch."""
    old = _large_file()
    new = _edited(old, gap)
    places = folder / "old", folder / "new"
    for place, data in zip(places, (old, new), strict=True):
        place.write_bytes(data)

    def by_git() -> bytes:
        command = (*_GIT, "diff", "--no-index", "--no-color", "--", "old", "new")
        return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout

    def by_portico() -> bytes:
        return unified_patch(
            FileChange(
                path="new", operation=ChangeOperation.UPDATE, old=FileContent.of(old), new=FileContent.of(new)
            )
        )

    changed = 2 * len(range(0, old.count(b"\n"), gap))
    for patch in (by_git(), by_portico()):
        if sum(line[:1] in b"+-" for line in patch.splitlines()[4:]) != changed:
            raise MeasurementFailed("a diff does not have the lines that were changed")
    found = time_in_turns({"git": _timed(by_git), "portico": _timed(by_portico)}, DIFF_ROUNDS)
    return found["git"], found["portico"]


def _timed(work: Callable[[], bytes]) -> Callable[[], float]:
    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return once


@cache
def _files() -> dict[str, tuple[bytes, bytes]]:
    """Each file as it is and as it shall be."""
    return {f"part{number % 20}/file{number}.py": _versions(number) for number in range(FILES)}


def _versions(number: int) -> tuple[bytes, bytes]:
    lines = [b"value_%d = %d + %d\n" % (line, number, line) for line in range(_LINES)]
    old = b"".join(lines)
    lines[_LINES // 3] = b"changed = %d\n" % number
    lines[2 * _LINES // 3 : 2 * _LINES // 3] = [b"added = %d\n" % number]
    return old, b"".join(lines)


def _large_file() -> bytes:
    line = b"%07d: one of the many lines of a file that was generated\n"
    return b"".join(line % number for number in range(DIFF_BYTES // len(line % 0)))


def _edited(data: bytes, gap: int) -> bytes:
    lines = data.splitlines(keepends=True)
    for at in range(0, len(lines), gap):
        lines[at] = b"edited %d\n" % at
    return b"".join(lines)
