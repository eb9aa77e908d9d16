"""Actions of all channels in the order of `serverSeq`; the newest are kept for clients that come back.

Numbers begin at the time of the start in microseconds, so a number of an earlier server is never taken for one of this.
"""

import time
from collections import deque
from collections.abc import Callable

import msgspec

from portico.doors.ahp import _schema as ahp
from portico.rpc.replay_buffer import ReplayGone

MOST_BYTES = 16 * 1024 * 1024


class LoggedAction(msgspec.Struct, frozen=True):
    """An envelope as JSON. One that is `only_for` a client tells it that its action was rejected."""

    seq: int
    channel: str
    envelope: bytes
    only_for: str | None = None


class ActionLog:
    def __init__(self, limit: int = MOST_BYTES, first: int | None = None) -> None:
        self.newest = (time.time_ns() // 1000 if first is None else first) - 1
        self._oldest = self.newest + 1
        self._limit = limit
        self._size = 0
        self._kept: deque[LoggedAction] = deque()
        self.listeners: set[Callable[[], None]] = set()
        """Called after each action."""

    def append(
        self,
        channel: str,
        action: ahp.StateAction,
        *,
        origin: ahp.ActionOrigin | None = None,
        rejection: str | None = None,
    ) -> None:
        """Number an action; readers see it at once."""
        self.newest += 1
        envelope = msgspec.json.encode(
            ahp.ActionEnvelope(
                channel=channel,
                action=action,
                server_seq=self.newest,
                origin=origin,
                rejection_reason=rejection,
            )
        )
        only_for = origin.client_id if origin is not None and rejection is not None else None
        self._kept.append(LoggedAction(self.newest, channel, envelope, only_for))
        self._size += len(envelope)
        while self._size > self._limit and len(self._kept) > 1:
            self._size -= len(self._kept.popleft().envelope)
            self._oldest += 1
        for listener in self.listeners:
            listener()

    def keeps(self, after: int) -> bool:
        """Whether every action behind a number is still here."""
        return self._oldest - 1 <= after <= self.newest

    def after(self, seq: int, limit: int | None = None) -> list[LoggedAction]:
        """Actions behind a number. ReplayGone when some are not kept any more."""
        if not self.keeps(seq):
            raise ReplayGone(f"Actions {self._oldest} to {self.newest} are kept.")
        first = seq + 1 - self._oldest
        last = len(self._kept) if limit is None else min(len(self._kept), first + limit)
        return [self._kept[place] for place in range(first, last)]
