"""A program that does something to a working copy in a child, and has the child killed at a touch of the disk.

Reads lines of `<what> <number>`, where the child is killed before its touch of that number, and answers each
with `killed` or `done`.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from portico.review.text.change_set import ChangeSet
from portico.review.working_copies.lifecycle import WorkingCopies

TOUCHES = {
    "open",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.symlink",
    "os.chmod",
    "shutil.rmtree",
}


class Countdown:
    """Kills its own process, as the system would, once the disk below a folder is touched so often."""

    def __init__(self, folder: Path, touches: int) -> None:
        self._folder = str(folder)
        self._left = touches

    def __call__(self, event: str, words: tuple[object, ...]) -> None:
        if event in TOUCHES and self._folder in str(words):
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def act(what: str, state: Path, workspace: Path) -> None:
    mode = WorkingCopies(state, os.environ)
    place = await mode.open(workspace, "s1")
    match what:
        case "refresh":
            await mode.refresh(place)
        case "discard":
            await mode.follow_decisions(place, ChangeSet(), await mode.changes(place))
        case "close":
            await mode.close(place)
        case _:
            assert what == "open"


def main() -> None:
    state, workspace = Path(sys.argv[1]), Path(sys.argv[2])
    for line in sys.stdin:
        what, number = line.split()
        child = os.fork()
        if child == 0:
            sys.addaudithook(Countdown(state, int(number)))
            asyncio.run(act(what, state, workspace))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "done", flush=True)


if __name__ == "__main__":
    main()
