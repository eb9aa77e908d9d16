"""A program that brings a worktree home and is killed, as the system would, at a moment that it is told.

`python -m tests.review.killed_finishes home ending moment`, where a moment is a word of `MOMENTS`.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from portico.review.branches.session_branches import FinishMethod
from portico.review.service import ReviewService
from portico.testing.clock import ManualClock

MOMENTS = {
    "apply": ("os.rename", (".new",)),
    "commit": ("open", ("index.lock",)),
    "branch": ("subprocess.Popen", ("update-ref", "--no-deref")),
    "index": ("os.rename", ("index.lock",)),
    "close": ("subprocess.Popen", ("'worktree'", "'remove'")),
}
"""Next call of the process when it is killed, as Python reports it."""


def main() -> None:
    home, ending, moment = Path(sys.argv[1]), FinishMethod(sys.argv[2]), sys.argv[3]
    awaited, names = MOMENTS[moment]

    def watch(event: str, words: tuple[object, ...]) -> None:
        if event == awaited and all(name in str(words) for name in names):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    reviews = ReviewService.at(home / "state", os.environ, ManualClock())
    asyncio.run(reviews.finish("s1", ending, "Work"))


if __name__ == "__main__":
    main()
