"""Memory of a soak test: its peak, and what remains when nothing runs.

The memory of a process does not fall back when what it held is let go of: one busy moment shows for
the rest of the run. So two things are told apart. The highest level, whenever it was, says what had to
be kept at once; it has a bound that does not depend on how long the run takes. What was made and is
still there, counted while all sessions rest, says whether something is kept for ever.
"""

import gc
import sys
import threading
from types import TracebackType

import msgspec
import psutil

_SECONDS_BETWEEN_LOOKS = 0.02


class Rest(msgspec.Struct, frozen=True):
    """Taken while nothing runs: bytes of the process, and pieces of memory that Python has in use."""

    resident: int
    pieces: int


def at_rest() -> Rest:
    gc.collect()
    return Rest(_resident(), sys.getallocatedblocks())


class HighestLevel:
    """Looks all the time, by a thread of its own: the busiest moments are those in which nothing else gets to."""

    def __init__(self) -> None:
        self.resident = _resident()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, name="memory", daemon=True)

    def __enter__(self) -> "HighestLevel":
        self._looking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_LOOKS):
            self.resident = max(self.resident, _resident())


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)
