"""Program that uses everything a review stores on a disk that takes no writes, and prints the results.

A program of its own, for a disk of its own: `python -m tests.review.failing_disk disk elsewhere full|read-only`.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from portico.domain.errors import PorticoError
from portico.domain.reviews import ReviewMode
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock
from tests.review.trees import repository, write


async def main(disk: Path, elsewhere: Path, how: str) -> dict[str, str]:
    work = repository(elsewhere / "work", a__txt="a\n")
    reviews = ReviewService.at(disk / "state", os.environ, ManualClock())
    review = await reviews.open("s1", work, "direct")
    await review.begin_turn("Do it")
    write(work, {"a.txt": "agent\n"})
    await review.end_turn()
    (*_, first) = await reviews.checkpoints("s1")
    write(work, {"b.txt": os.urandom(9000).hex()})
    refuse(disk, how)
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "begin a turn": lambda: review.begin_turn("Again"),
        "end a turn": review.end_turn,
        "list checkpoints": lambda: reviews.checkpoints("s1"),
        "go back": lambda: reviews.restore("s1", first.id),
        "ask how it stands": lambda: reviews.status("s1"),
        **{f"open, {mode}": _opening(reviews, work, mode) for mode in ("direct", "proposal", "worktree")},
        "delete": lambda: reviews.forget("s1", work),
    }
    return {name: await _answer(ask) for name, ask in asked.items()}


def _opening(reviews: ReviewService, work: Path, mode: ReviewMode) -> Callable[[], Awaitable[object]]:
    return lambda: reviews.open(f"new-{mode}", work, mode)


async def _answer(ask: Callable[[], Awaitable[object]]) -> str:
    try:
        await ask()
    except PorticoError as error:
        return f"{error.message} {error.suggestion}"
    except OSError as error:
        return f"raw: {error!r}"
    return "done"


def refuse(disk: Path, how: str) -> None:
    """Fill the disk to its last byte, or make it read-only."""
    if how == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        return
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))))
