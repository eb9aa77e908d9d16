"""Numbers the events of one session, batches them and stores them before readers see them.

Deltas that follow each other within 16 ms become one event. Everything recorded since the last write goes into one
transaction. Readers share the newest hundred or so events in memory, fewer if they are long; one that falls behind
reads from the store.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Event
from portico.domain.ids import SessionId, TurnId
from portico.sessions.log.backlog import Backlog, BacklogShare
from portico.sessions.log.entry import JournalEntry
from portico.sessions.ports import Clock, Store

GATHER_SECONDS = 0.016
MAX_UNWRITTEN = 1_000_000
"""Bytes of unwritten events in memory, beyond which the agent of the session has to wait."""
MAX_REFUSED = 2 * MAX_UNWRITTEN
"""The same while the store refuses them, since the agent must still be able to report its stop."""
RETRY_SECONDS = 1.0
RECENT_EVENTS = 128
RECENT_BYTES = 256 * 1024


class Journal:
    def __init__(
        self, session_id: SessionId, store: Store, clock: Clock, backlog: Backlog, *, last_seq: int
    ) -> None:
        self.session_id = session_id
        self.committed_seq = last_seq
        self.turn_id: TurnId | None = None
        self.failure: PorticoError | None = None
        self.failed = asyncio.Event()
        self._store = store
        self._clock = clock
        self._pending: list[JournalEntry] = []
        self._unwritten = BacklogShare(backlog)
        self._recent: deque[tuple[Event, int]] = deque()
        self._recent_bytes = 0
        self._writing = asyncio.Lock()
        self._recorded = asyncio.Event()
        self._news = asyncio.Event()
        self._durable = False
        self._closed = False
        self._last_write = float("-inf")

    def record_in(self, turn_id: TurnId | None, payload: AnyPayload) -> None:
        """Add an event that belongs to a turn which may be over."""
        running, self.turn_id = self.turn_id, turn_id
        self.record(payload)
        self.turn_id = running

    def record(self, payload: AnyPayload) -> None:
        """Add an event to the log soon, in the order of the calls."""
        if self._pending:
            last = self._pending[-1]
            before = last.size
            if last.absorb(self.turn_id, payload):
                self._unwritten.change(last.size - before)
                return
        entry = JournalEntry(self.turn_id, self._clock.now_ms(), payload)
        self._pending.append(entry)
        self._unwritten.change(entry.size)
        self._recorded.set()

    async def commit(self, *payloads: AnyPayload) -> None:
        """Write these and all waiting events now; returns when they are on the disk.

        Raises StoreFailed, and then none of them is in the log.
        """
        for payload in payloads:
            self.record(payload)
        await self._write(durable=True)
        if self.failure is not None:
            raise self.failure

    async def withdraw(self, payloads: Sequence[AnyPayload]) -> bool:
        """Drop payloads that a commit could not write; False if a later write has stored them after all."""
        async with self._writing:
            given_up = [one for one in self._pending if any(one.payload is payload for payload in payloads)]
            self._pending = [one for one in self._pending if one not in given_up]
            self._unwritten.change(-_size(given_up))
            if not self._pending:
                self.failure = None
                self._unwritten.set_refused(False)
        return len(given_up) == len(payloads)

    async def run(self) -> None:
        """Write recorded events periodically, until cancelled."""
        while True:
            await self._recorded.wait()
            pause = self._last_write + GATHER_SECONDS - self._clock.monotonic()
            if pause > 0:
                await self._clock.sleep(pause)
            self._recorded.clear()
            await self._write(durable=False)
            if self.failure is not None:
                # Ends the turn, whose end readers wait for; there may be no other write before.
                await self._clock.sleep(RETRY_SECONDS)
                self._recorded.set()

    async def ready(self) -> None:
        """Wait while too much is unwritten, in this session or in all, to slow a flooding agent down."""
        if self._unwritten.size > MAX_UNWRITTEN:
            await self._write(durable=False)
        while self.failure is not None and self._unwritten.size > MAX_REFUSED and not self._closed:
            await self._clock.sleep(RETRY_SECONDS)
            await self._write(durable=False)
        await self._unwritten.room()

    def recent_after(self, seq: int) -> list[Event]:
        """Committed events after `seq`, if memory still has all of them."""
        if not self._recent or self._recent[0][0].seq > seq + 1:
            return []
        return [event for event, _ in self._recent if event.seq > seq]

    async def wait_beyond(self, seq: int) -> bool:
        """Wait until an event after `seq` is committed; False if the journal is closed."""
        while self.committed_seq <= seq:
            if self._closed:
                return False
            await self._news.wait()
        return True

    async def close(self) -> None:
        """Write what is left and end every waiting reader."""
        await self._write(durable=True)
        self._closed = True
        self._announce()

    async def _write(self, *, durable: bool) -> None:
        """Write all waiting events. A cancelled caller waits for the write, so that its outcome is known."""
        if not self._pending and not self._writing.locked():
            return
        self._durable |= durable
        writing = asyncio.create_task(self._write_batch(), name=f"writing to {self.session_id}")
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait((writing,))
            raise

    async def _write_batch(self) -> None:
        async with self._writing:
            batch, self._pending = self._pending, []
            # Another write may include these events.
            durable, self._durable = self._durable, False
            if not batch:
                return
            first, before = self.committed_seq + 1, _size(batch)
            events = [entry.event(self.session_id, first + place) for place, entry in enumerate(batch)]
            self._unwritten.change(_size(batch) - before)
            try:
                await self._store.append(events, durable=durable)
            except PorticoError as error:
                self._pending[:0] = batch
                self._durable |= durable
                self._unwritten.set_refused(True)
                self.failure = error
                self.failed.set()
                return
            self._unwritten.change(-_size(batch))
            self._unwritten.set_refused(False)
            self.failure = None
            self.committed_seq += len(events)
            self._keep(events, [entry.size for entry in batch])
            self._last_write = self._clock.monotonic()
            self._announce()

    def _keep(self, events: Sequence[Event], sizes: Sequence[int]) -> None:
        """Keep the newest events in memory; older ones are read from the store."""
        self._recent.extend(zip(events, sizes, strict=True))
        self._recent_bytes += sum(sizes)
        while len(self._recent) > RECENT_EVENTS or self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= self._recent.popleft()[1]

    def _announce(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _size(entries: Sequence[JournalEntry]) -> int:
    return sum(entry.size for entry in entries)
