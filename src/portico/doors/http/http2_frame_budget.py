"""Budget for HTTP/2 frames that cause work but carry none, as protection against floods.

HTTP/2 lets a peer send frames that are cheap to send and not to handle: pings, settings, priorities, tiny
window updates, calls that are reset at once, endless heads. A normal client sends them in proportion to
its calls. So they are counted before they are parsed.
"""

from collections.abc import Callable
from typing import Final

CAPACITY: Final = 2000.0
PER_SECOND: Final = 500.0
RESET_COST: Final = 10.0
"""Starting and resetting a call costs more than a frame."""
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

_HEAD_BYTES: Final = 9
_SMALL_DATA: Final = 256
_DATA, _HEADERS, _RST_STREAM, _CONTINUATION = 0x0, 0x1, 0x3, 0x9
_END_HEADERS: Final = 0x4


class FrameMeter:
    """Computes the cost of a peer's frames from their types and lengths."""

    def __init__(self, max_head: int) -> None:
        self._max_head = max_head
        self._skip = len(PREFACE)
        self._head = b""
        self._block = 0

    def cost(self, data: bytes) -> float:
        """The cost of these bytes; infinite for a head that is too long."""
        cost, position = 0.0, 0
        while position < len(data):
            if self._skip:
                step = min(self._skip, len(data) - position)
                self._skip -= step
            else:
                step = min(_HEAD_BYTES - len(self._head), len(data) - position)
                self._head += data[position : position + step]
                if len(self._head) == _HEAD_BYTES:
                    cost += self._begin(self._head)
                    self._head = b""
            position += step
        return cost

    def _begin(self, head: bytes) -> float:
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        self._skip = length
        if kind in (_HEADERS, _CONTINUATION):
            self._block += length
            if self._block > self._max_head:
                return float("inf")
            if flags & _END_HEADERS:
                self._block = 0
            return 1.0
        if kind == _RST_STREAM:
            return RESET_COST
        return 0.0 if kind == _DATA and length >= _SMALL_DATA else 1.0


class FrameBudget:
    """Budget that grows with time and completed work, and shrinks with the cost of frames."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = CAPACITY
        self._seen = clock()

    def earn(self, cost: float) -> None:
        """Add to the budget."""
        self._left = min(CAPACITY, self._left + cost)

    def spend(self, cost: float) -> bool:
        """Take from the budget; whether there was enough."""
        now = self._clock()
        self.earn((now - self._seen) * PER_SECOND)
        self._seen = now
        self._left -= cost
        return self._left >= 0
