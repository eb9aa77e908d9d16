"""Program that applies, restores and keeps files on a disk that is really full, and prints the results.

A program of its own, for a disk of its own: `python -m tests.review.full_disk disk elsewhere`.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from portico.domain.errors import PorticoError
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.text.change_set import ChangeSet
from portico.testing.clock import ManualClock
from tests.review.folders import change, fill, seen

SMALL, LARGE = b"small\n", b"large\n" * 10_000
NAMES = [f"d{number % 3}/f{number}" for number in range(20)]


async def main(disk: Path, elsewhere: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    work = disk / "work"
    fill(work, dict.fromkeys(NAMES, (SMALL, 0o644)))
    ballast = disk / "ballast"
    changes = ChangeSet(tuple(change(name, SMALL, LARGE) for name in NAMES))

    applier = Applier(elsewhere / "applies")
    occupy(disk, ballast, leaving=6 * len(LARGE))
    before = seen(work)
    try:
        applier.apply(work, changes)
    except PorticoError as error:
        found["apply"] = error.message
    assert seen(work) == before, "A full disk left something of an apply."
    ballast.unlink()
    applied = applier.apply(work, changes)
    assert isinstance(applied, AppliedChanges), "With room again it is applied."

    checkpoints = Checkpoints(elsewhere / "checkpoints", os.environ, ManualClock())
    large = await checkpoints.create(work, "all of it large")
    applier.apply(work, applied.undo)
    occupy(disk, ballast, leaving=6 * len(LARGE))
    try:
        await checkpoints.restore(work, large.id)
    except PorticoError as error:
        found["restore"] = error.message
    assert seen(work) == before, "A full disk left something of a restore."
    ballast.unlink()
    await checkpoints.restore(work, large.id)
    assert (work / NAMES[-1]).read_bytes() == LARGE, "With room again it is restored."

    kept_here = Checkpoints(disk / "checkpoints", os.environ, ManualClock())
    occupy(disk, ballast, leaving=100_000)
    fill(elsewhere / "work", {name: (os.urandom(60_000), 0o644) for name in NAMES})
    try:
        await kept_here.create(elsewhere / "work", "nowhere to keep it")
    except PorticoError as error:
        found["checkpoint"] = error.message
    ballast.unlink()
    return found


def occupy(disk: Path, ballast: Path, *, leaving: int) -> None:
    """Fill the disk up to a little room."""
    facts = os.statvfs(disk)
    ballast.write_bytes(bytes(facts.f_bavail * facts.f_frsize - leaving))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))))
