"""A program that restores a checkpoint in a child and has the child killed: at a step, or after some seconds.

Reads lines of `step <number>` or `after <seconds>`, and answers each with `killed` or `done`.
"""

import asyncio
import os
import select
import signal
import sys
from pathlib import Path

from portico.review.checkpoints.lifecycle import Checkpoints
from portico.testing.clock import ManualClock


class Countdown:
    """Kills its own process, as the system would, at the given step."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, what: str) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def restore(state: Path, workspace: Path, checkpoint: str, steps: int) -> None:
    store = Checkpoints(state, os.environ, ManualClock(), step=Countdown(steps))
    asyncio.run(store.restore(workspace, checkpoint))


def main() -> None:
    state, workspace, checkpoint = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    for line in sys.stdin:
        kind, amount = line.split()
        child = os.fork()
        if child == 0:
            restore(state, workspace, checkpoint, int(amount) if kind == "step" else sys.maxsize)
            os._exit(0)
        if kind == "after":
            select.select([], [], [], float(amount))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "done", flush=True)


if __name__ == "__main__":
    main()
