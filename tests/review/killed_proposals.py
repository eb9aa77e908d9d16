"""Applies proposals, takes them back and goes back to checkpoints, is killed at random moments, and says what was found.

A program of its own, with one thread, so that it may fork: `python -m tests.review.killed_proposals what folder seed rounds`,
where `what` is `proposals` or `restores`.
"""

import asyncio
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from portico.review.files.atomic_apply import Applier
from portico.review.proposals.lifecycle import Proposals
from portico.review.service import ReviewService
from portico.review.session_records import ReviewRecords
from portico.testing.clock import ManualClock
from tests.review.folders import Seen, fill, seen
from tests.review.killed_applies import CHANGES, FILES
from tests.review.trees import write


def killed(chance: random.Random, longest: float, work: Callable[[], None]) -> bool:
    """Have the work done in a child that is killed on the way; whether it ended by itself before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        work()
        os._exit(0)
    os.close(writing)
    ended, _, _ = select.select([reading], [], [], chance.uniform(0.0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return bool(ended)


def kill_decisions(home: Path, chance: random.Random, rounds: int) -> Counter[str]:
    """Apply and undo in turns. The record must say of the tree what is true of it."""

    def fresh() -> Proposals:
        return Proposals(home / "proposals", Applier(home / "applies"), ManualClock())

    work = home / "work"
    fill(work, FILES)
    before = seen(work)
    proposal = fresh().put("s", work, CHANGES, "turn")
    assert proposal is not None
    begun = time.monotonic()
    fresh().apply(proposal.id, 1)
    longest = 3 * (time.monotonic() - begun)  # As long as there and back takes on this machine.
    after = seen(work)

    def decide() -> None:
        proposals = fresh()
        while True:
            standing = proposals.get(proposal.id)
            if standing.can_undo:
                proposals.undo(standing.id, standing.revision)
            else:
                proposals.apply(standing.id, standing.revision)

    found: Counter[str] = Counter()
    for _ in range(rounds):
        found["died"] += killed(chance, longest, decide)
        found["interrupted"] += bool(list((home / "applies").glob("*.*n*")))
        standing = fresh().get(proposal.id)
        there = seen(work)
        state = "before" if there == before else "after" if there == after else "between"
        says = "after" if standing.can_undo else "before"
        found[state if state == says else f"{state}, but the record says {says}"] += 1
        left = {one.name for one in (home / "applies").iterdir()} - {"apply.lock"}
        found["litter"] += bool(left)
    fresh().mark_synced(fresh().get(proposal.id))
    packs = list((home / "proposals").rglob("*.pack"))
    found["packs"] = len(packs)
    return found


def kill_restores(home: Path, chance: random.Random, rounds: int) -> Counter[str]:
    """Go back to a checkpoint. Either nothing has happened, or what the person had is proposed, once."""
    work = home / "work"
    start = {f"d{number}/f": f"{number}\n" for number in range(5)}
    write(work, start)

    def fresh() -> ReviewService:
        return ReviewService.at(home / "state", os.environ, ManualClock())

    async def begin() -> str:
        review = await fresh().open("s", work, "direct")
        await review.begin_turn("start")
        return (await fresh().checkpoints("s"))[0].id

    first = asyncio.run(begin())
    after = seen(work)
    person = {"d1/f": "mine\n", "d2/new": "new\n"}

    def go_back() -> None:
        asyncio.run(fresh().restore("s", first))

    found: Counter[str] = Counter()
    for _ in range(rounds):
        write(work, person)
        (work / "d3" / "f").unlink(missing_ok=True)
        before = seen(work)
        found["ended"] += killed(chance, 0.3, go_back)
        going = ReviewRecords(home / "state" / "sessions").find("s")
        found["interrupted"] += going is not None and going.restoring is not None
        found[asyncio.run(_stands(fresh(), work, before, after))] += 1
    return found


async def _stands(reviews: ReviewService, work: Path, before: Seen, after: Seen) -> str:
    """Result of a restore. Its proposal is decided, so that the next one starts clean."""
    waiting = [one for one in await reviews.proposals("s") if one.status == "open"]
    there = seen(work)
    state = "before" if there == before else "after" if there == after else "between"
    if len(waiting) != (1 if state == "after" else 0):
        return f"{state}, with {len(waiting)} proposals"
    for one in waiting:
        paths = {change.path for change in one.changes.changes}
        if paths != {"d1/f", "d2/new", "d3/f"}:
            return f"{state}, with {sorted(paths)} proposed"
        await reviews.discard("s", one.id, one.revision)
    return state


def main(what: str, home: Path, seed: int, rounds: int) -> None:
    kill = kill_decisions if what == "proposals" else kill_restores
    print(json.dumps(kill(home, random.Random(seed), rounds)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
