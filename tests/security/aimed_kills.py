"""Kills applies, undos and restores in the middle of the swap, lets the person edit, settles, and says what was found.

A program of its own that forks with one thread: `python -m tests.security.aimed_kills what folder rounds`, where
`what` is `apply`, `undo` or `restore`. The first kills come at one touch of the disk after the other, all others at
those that leave the folder mixed. Some of the time the settling is killed as well.
"""

import asyncio
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.files.atomic_apply import Applier
from portico.review.files.file_swap import FileSwap, SwapTarget
from portico.review.files.leftovers import has_leftovers
from portico.review.files.rollbacks import Rollback, Rollbacks
from portico.review.service import ReviewService
from portico.review.text.change_set import LINK_MODE, ChangeSet
from portico.testing.clock import ManualClock
from tests.review.folders import Files, Seen, change, fill, seen

TOUCHES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.symlink", "os.link"}
FILES: Files = {
    **{f"d{number % 3}/f{number}": (f"old {number}\n".encode(), 0o644) for number in range(6)},
    "gone/deep/file": (b"old and going\n", 0o644),
    "link": (b"d0/f0", LINK_MODE),
    "was": (b"a file\n", 0o644),
}
WANTED: Files = {
    **{f"d{number % 3}/f{number}": (f"new {number}\n".encode(), 0o644) for number in range(6)},
    "link": (b"d0/f3", LINK_MODE),
    "made/deep/file": (b"new and made\n", 0o644),
    "was/folder": (b"a folder now\n", 0o644),
}


class Countdown:
    """Kills its own process, as the system would, at the n-th touch of the disk below a folder.

    A name that is not absolute is looked up from a folder that was opened before.
    """

    def __init__(self, folder: Path, touches: int) -> None:
        self._folder = str(folder)
        self._left = touches

    def __call__(self, event: str, words: tuple[object, ...]) -> None:
        # A name alone is one in a folder that was opened below.
        if event in TOUCHES and (self._folder in str(words[:2]) or not str(words[0]).startswith("/")):
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


def killed(home: Path, touches: int, work: Callable[[], object]) -> bool:
    """Have the work done in a child that is killed at a touch of the disk; False if it came to its end."""
    child = os.fork()
    if child == 0:
        sys.addaudithook(Countdown(home, touches))
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def apply(home: Path, wanted: Files, found: Files) -> None:
    changes = []
    for path in sorted({*found, *wanted}):
        (old, old_mode), (new, new_mode) = found.get(path, (None, None)), wanted.get(path, (None, None))
        modes = {"old_mode": old_mode, "new_mode": new_mode} if path == "link" else {}
        changes.append(change(path, old, new, **modes))
    emptied = ("gone/deep", "gone", "made/deep", "made", "was")
    Applier(home / "state" / "applies").apply(home / "work", ChangeSet(tuple(changes), emptied=emptied))


def restore(home: Path) -> None:
    """The swap of a restore, with files staged as checkpoints stage them."""
    swap = swap_of(home)
    staging = swap.stage()
    wishes = []
    for number, path in enumerate(sorted({*FILES, *WANTED})):
        if path not in WANTED:
            wishes.append(SwapTarget(path, True, None))
            continue
        content, mode = WANTED[path]
        fill(staging.new, {str(number): (content, mode)})
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        wishes.append(SwapTarget(path, path in FILES, number, blob))
    swap.perform(staging, wishes, swap.look(FILES), "kept")
    swap.sweep()


def swap_of(home: Path) -> FileSwap:
    checkpoints = Checkpoints(home / "state" / "checkpoints", os.environ, ManualClock())
    shadow = checkpoints._snapshots_of(home / "work")
    shadow.folder.mkdir(parents=True, exist_ok=True)
    return checkpoints._swap(shadow)


class Round:
    """One kill: the folder before and right after it, what it has to be again, and the person's edits since."""

    def __init__(self, home: Path, before: Seen, after: Seen) -> None:
        self._work = home / "work"
        self._beside = home / "typed"
        self._before = before
        self.killed = {path: one for path, one in seen(self._work).items() if not is_ours(path)}
        begun = any((home / "state").glob("applies/*.begun")) or swap_of(home).unfinished
        self.expected = before if begun or self.killed == before else after
        self.mixed = self.killed not in (before, after)
        self._edits: dict[str, bytes | None] = {}

    def edit(self, chance: random.Random) -> None:
        """Write into files, put others in their place, delete some."""
        there = sorted(
            path for path, (data, mode) in self.killed.items() if data is not None and mode != LINK_MODE
        )
        for path in chance.sample(there, min(4, len(there))):
            place = self._work / path
            self._edits[path] = data = chance.choice([b"mine, in place\n", b"mine, by rename\n", None])
            if data is None:
                place.unlink()
            elif b"rename" in data:
                self._beside.write_bytes(data)
                self._beside.replace(place)
            else:
                place.write_bytes(data)

    def judge(self, rollbacks: list[Rollback]) -> str:
        """Description of the folder as a person sees it now."""
        now = seen(self._work)
        if any(is_ours(path) for path in now):
            return "litter"
        if any(now.get(path, (None,))[0] != data for path, data in self._edits.items()):
            return "edit lost"
        others = {path for path in now.keys() | self.expected.keys() if not self._concerns(path)}
        if any(now.get(path) != self.expected.get(path) for path in others):
            return "mixed"
        told = {edit.path: edit.earlier for rollback in rollbacks for edit in rollback.edits}
        files = {path: data for path, (data, _) in self._before.items() if data is not None}
        for path, data in self._edits.items():
            swapped = self.expected == self._before and self.killed[path] != self._before.get(path)
            if swapped and path not in told and (path in files or data is not None):
                return "not told"
        for path, earlier in told.items():
            if files.get(path) != (None if earlier is None else content(Path(earlier))):
                return "earlier version lost"
        return "as it should be"

    def _concerns(self, path: str) -> bool:
        """Whether an edit decides on a path: on that file, on a folder above it, or on what is in its place."""
        return any(
            path == one or one.startswith(f"{path}/") or path.startswith(f"{one}/") for one in self._edits
        )


def is_ours(path: str) -> bool:
    return any(name.startswith(".portico") for name in path.split("/"))


def content(place: Path) -> bytes:
    return os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes()  # noqa: PTH115


async def recover(home: Path) -> None:
    await ReviewService.at(home / "state", os.environ, ManualClock()).recover_all()


def main(what: str, home: Path, rounds: int) -> None:
    chance = random.Random(14)
    first, second = (WANTED, FILES) if what == "undo" else (FILES, WANTED)
    fill(home / "before", first)
    fill(home / "after", second)
    before, after = seen(home / "before"), seen(home / "after")
    work = (lambda: restore(home)) if what == "restore" else (lambda: apply(home, second, first))
    found: Counter[str] = Counter()
    moments: Iterator[int] = iter(range(1000))
    aimed: list[int] = []
    kills = 0
    while kills < rounds:
        for name in ("state", "work"):
            shutil.rmtree(home / name, ignore_errors=True)
        shutil.copytree(home / "before", home / "work", symlinks=True)
        touches = next(moments)
        if not killed(home, touches, work):
            moments = itertools.cycle(aimed)  # From now on only in the middle of the swap.
        kills += 1
        one = Round(home, before, after)
        aimed += [touches] if one.mixed and touches not in aimed else []
        found["mixed when killed"] += one.mixed
        if kills % 4:
            one.edit(chance)
        if kills % 3 == 0:
            found["recovery killed"] += killed(home, kills // 3, lambda: asyncio.run(recover(home)))
        asyncio.run(recover(home))
        rollbacks = Rollbacks(home / "state" / "rollbacks").take(home / "work")
        found[one.judge(rollbacks)] += 1
        found["left over"] += has_leftovers(home / "state")
        found["moments"] = len(aimed)
        found["edits told"] += sum(len(each.edits) for each in rollbacks)
    print(json.dumps(+found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
