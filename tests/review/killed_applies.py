"""Applies and takes back a change again and again, is killed at random moments, and says what was found then.

A program of its own, with one thread, so that it may fork: `python -m tests.review.killed_applies folder seed rounds`.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from portico.review.disk.applying import Applied, Applier
from portico.review.text.changes import LINK_MODE, ChangeSet, Content, FileChange, Operation
from tests.review.folders import Files, Seen, change, fill, seen

FILES: Files = {
    "a": (b"one\n", 0o644),
    "b": (b"two\n", 0o755),
    "d/c": (b"three\n", 0o600),
    "d/e/f": (b"four\n", 0o644),
    "g": (b"was a file\n", 0o644),
    "k": (b"./a", LINK_MODE),
    "m/n": (b"in a folder\n", 0o644),
    "o": (b"./m", LINK_MODE),
    "p": (b"moved", LINK_MODE),
}
CHANGES = ChangeSet(
    (
        change("a", b"one\n", b"ONE\n" * 2000),
        change("b", b"two\n", b"two\n", old_mode=0o755, new_mode=0o644),
        FileChange(
            path="moved/c",
            old_path="d/c",
            operation=Operation.RENAME,
            old=Content.of(b"three\n"),
            new=Content.of(b"3\n"),
        ),
        change("d/e/f", b"four\n", None),
        change("g", b"was a file\n", None),
        change("g/h", None, b"now a folder\n"),
        change("new/deep/file", None, b"fresh\n", new_mode=0o755),
        change("k", b"./a", b"./new", old_mode=LINK_MODE, new_mode=LINK_MODE),
        change("l", None, b"nowhere", new_mode=LINK_MODE),
        change("m/n", b"in a folder\n", None),
        change("m", None, b"new", new_mode=LINK_MODE),
        change("o", b"./m", None, old_mode=LINK_MODE),
        change("o/q", None, b"in a folder now\n"),
        change("p", b"moved", b"a file now\n", old_mode=LINK_MODE, new_mode=0o644),
    ),
    emptied=("d/e", "d", "m"),
)


def both_states(home: Path) -> tuple[Seen, Seen, ChangeSet]:
    """The folder before and after the change, with the way back; it is left as before."""
    fill(home / "work", FILES)
    before = seen(home / "work")
    applied = Applier(home / "state").apply(home / "work", CHANGES)
    assert isinstance(applied, Applied)
    after = seen(home / "work")
    Applier(home / "state").apply(home / "work", applied.undo)
    assert seen(home / "work") == before != after
    return before, after, applied.undo


def main(home: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    begun = time.monotonic()
    before, after, undo = both_states(home)
    longest = time.monotonic() - begun  # As long as there and back takes on this machine.
    found: Counter[str] = Counter()
    for _ in range(rounds):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            applier = Applier(home / "state")
            applier.recover()
            while True:
                there = seen(home / "work")
                applier.apply(home / "work", CHANGES if there == before else undo)
        os.close(writing)
        # The pipe ends only if the child died by itself, which would be a failure.
        died, _, _ = select.select([reading], [], [], chance.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        interrupted = bool(list((home / "state").glob("*.*n*")))
        Applier(home / "state").recover()
        there = seen(home / "work")
        state = "before" if there == before else "after" if there == after else "between"
        found.update([state, *(["interrupted"] if interrupted else []), *(["died"] if died else [])])
        left = {one.name for one in (home / "state").iterdir()} - {"apply.lock"}
        found.update(["litter"] if left else [])
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
