"""The pen of one session: numbers its events, gathers small ones, stores them, and only then shows them.

Deltas that follow each other within 16 ms become one event. Everything recorded since the last
write goes into one transaction. A reader that falls behind reads from the store: nothing is
kept in memory for it but the newest hundred or so events that all readers share, fewer if they are long.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import UnsetType

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Event, TextDelta, Thinking, ToolUpdated
from portico.domain.ids import SessionId, TurnId
from portico.domain.values import TerminalOutput
from portico.sessions.ports import Clock, Store

GATHER_SECONDS = 0.016
MAX_PENDING_CHARACTERS = 1_000_000
MAX_PENDING_ENTRIES = 2_000
RECENT_EVENTS = 128
RECENT_CHARACTERS = 256 * 1024
_OTHER_LENGTH = 256


class _Entry:
    """An event to be, not numbered yet; text that joins it is kept in pieces until it is written."""

    __slots__ = ("at", "payload", "pieces", "turn_id")

    def __init__(self, turn_id: TurnId | None, at: int, payload: AnyPayload) -> None:
        self.turn_id = turn_id
        self.at = at
        self.payload = payload
        self.pieces: list[str] | None = None

    def absorb(self, turn_id: TurnId | None, payload: AnyPayload) -> bool:
        """Take a following payload into this entry if the two say one thing in two pieces."""
        if turn_id != self.turn_id or type(payload) is not type(self.payload):
            return False
        text = _joinable_text(self.payload, payload)
        if text is None:
            return False
        if self.pieces is None:
            self.pieces = [_text(self.payload)]
        self.pieces.append(text)
        return True

    def event(self, session_id: SessionId, seq: int) -> Event:
        payload = self.payload
        if self.pieces is not None:
            payload = _with_text(payload, "".join(self.pieces))
        return Event(session_id=session_id, seq=seq, turn_id=self.turn_id, at=self.at, payload=payload)


class Journal:
    def __init__(self, session_id: SessionId, store: Store, clock: Clock, *, last_seq: int) -> None:
        self.session_id = session_id
        self.committed_seq = last_seq
        self.turn_id: TurnId | None = None
        self.failure: PorticoError | None = None
        self.failed = asyncio.Event()
        self._store = store
        self._clock = clock
        self._pending: list[_Entry] = []
        self._pending_characters = 0
        self._recent: deque[Event] = deque()
        self._recent_characters = 0
        self._writing = asyncio.Lock()
        self._recorded = asyncio.Event()
        self._news = asyncio.Event()
        self._closed = False
        self._last_write = float("-inf")

    def record(self, payload: AnyPayload) -> None:
        """Add to the log soon, within the gathering time, in the order of the calls."""
        self._pending_characters += _length(payload)
        if self._pending and self._pending[-1].absorb(self.turn_id, payload):
            return
        self._pending.append(_Entry(self.turn_id, self._clock.now_ms(), payload))
        self._recorded.set()

    async def commit(self, *payloads: AnyPayload) -> None:
        """Add to the log now, together with all that waits; returns when it is safe on the disk.

        Raises StoreFailed, and then nothing of it is in the log.
        """
        for payload in payloads:
            self.record(payload)
        await self._write(durable=True)
        if self.failure is not None:
            raise self.failure

    def withdraw(self, payloads: Sequence[AnyPayload]) -> None:
        """Give up what a commit could not write, if it shall not be written later either."""
        self._pending = [
            entry for entry in self._pending if not any(entry.payload is payload for payload in payloads)
        ]

    async def run(self) -> None:
        """Write what was recorded, at most once in the gathering time, until cancelled."""
        while True:
            await self._recorded.wait()
            pause = self._last_write + GATHER_SECONDS - self._clock.monotonic()
            if pause > 0:
                await self._clock.sleep(pause)
            self._recorded.clear()
            await self._write(durable=False)

    async def ready(self) -> None:
        """Wait while too much is unwritten; this is what slows a flooding agent down."""
        if self._pending_characters > MAX_PENDING_CHARACTERS or len(self._pending) > MAX_PENDING_ENTRIES:
            await self._write(durable=False)

    def recent_after(self, seq: int) -> list[Event]:
        """Committed events after `seq`, if memory still has all of them."""
        if not self._recent or self._recent[0].seq > seq + 1:
            return []
        return [event for event in self._recent if event.seq > seq]

    async def wait_beyond(self, seq: int) -> bool:
        """Wait until something after `seq` is committed; False when nothing will come any more."""
        while self.committed_seq <= seq:
            if self._closed:
                return False
            await self._news.wait()
        return True

    async def close(self) -> None:
        """Write what is left and let every waiting reader go."""
        await self._write(durable=True)
        self._closed = True
        self._announce()

    async def _write(self, *, durable: bool) -> None:
        """Write all that waits. Whoever is cancelled meanwhile waits too: what stands in the log must be known."""
        if not self._pending and not self._writing.locked():
            return
        writing = asyncio.create_task(
            self._write_batch(durable=durable), name=f"writing to {self.session_id}"
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait((writing,))
            raise

    async def _write_batch(self, *, durable: bool) -> None:
        async with self._writing:
            batch, self._pending = self._pending, []
            self._pending_characters = 0
            if not batch:
                return
            first = self.committed_seq + 1
            events = [entry.event(self.session_id, first + place) for place, entry in enumerate(batch)]
            try:
                await self._store.append(events, durable=durable)
            except PorticoError as error:
                self._pending[:0] = batch
                self.failure = error
                self.failed.set()
                return
            self.failure = None
            self.committed_seq += len(events)
            self._keep(events)
            self._last_write = self._clock.monotonic()
            self._announce()

    def _keep(self, events: list[Event]) -> None:
        """Have the newest events at hand; what no longer fits is read from the store."""
        self._recent.extend(events)
        self._recent_characters += sum(_length(event.payload) for event in events)
        while len(self._recent) > RECENT_EVENTS or self._recent_characters > RECENT_CHARACTERS:
            self._recent_characters -= _length(self._recent.popleft().payload)

    def _announce(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _length(payload: AnyPayload) -> int:
    """How much memory a payload takes, roughly, in characters."""
    if isinstance(payload, TextDelta | Thinking):
        return len(payload.text)
    if isinstance(payload, ToolUpdated) and payload.terminal is not None:
        return len(payload.terminal.text)
    return _OTHER_LENGTH


def _joinable_text(first: AnyPayload, second: AnyPayload) -> str | None:
    match first, second:
        case (TextDelta(block=UnsetType()), TextDelta(block=UnsetType())) | (
            Thinking(block=UnsetType()),
            Thinking(block=UnsetType()),
        ):
            one, two = cast(TextDelta, first), cast(TextDelta, second)
            return two.text if one.message_id == two.message_id else None
        case ToolUpdated(terminal=TerminalOutput() as one), ToolUpdated(terminal=TerminalOutput() as two):
            same = first.tool_id == second.tool_id and one.terminal_id == two.terminal_id
            return two.text if same and not two.ended and not one.ended else None
        case _:
            return None


def _text(payload: AnyPayload) -> str:
    match payload:
        case TextDelta(text=text) | Thinking(text=text) | ToolUpdated(terminal=TerminalOutput(text=text)):
            return text
        case _:
            raise TypeError(f"{payload.kind} has no text to join")


def _with_text(payload: AnyPayload, text: str) -> AnyPayload:
    if isinstance(payload, ToolUpdated) and payload.terminal is not None:
        terminal = msgspec.structs.replace(payload.terminal, text=text)
        return msgspec.structs.replace(payload, terminal=terminal)
    return msgspec.structs.replace(payload, text=text)
