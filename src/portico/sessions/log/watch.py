"""Watches the events of a session, from the journal if it is open here, else from the store.

Watchers pull page by page, so a slow one costs no memory.
"""

from collections.abc import AsyncGenerator, Callable

from portico.domain.errors import InvalidInput
from portico.domain.events import Event, StateChanged
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.log.journal import Journal
from portico.sessions.ports import Clock, Store

PAGE = 500
PAGE_BYTES = 1_000_000
LOOK_SECONDS = 0.2
"""Interval in which changes by other processes are looked for."""


def check_after_seq(summary: SessionSummary, after_seq: int) -> None:
    """InvalidInput if `after_seq` is beyond the end of the log, because the caller has read another log."""
    if after_seq > summary.last_seq:
        raise InvalidInput(
            f"Session {summary.session_id} ends at event {summary.last_seq}, before event {after_seq}: "
            "this is not the log that was read before.",
            suggestion="Read it again from the beginning, or from its end.",
        )


async def read_all(store: Store, session_id: SessionId) -> AsyncGenerator[Event]:
    """Every event that the log has now, in order."""
    after_seq = 0
    while page := await store.read(session_id, after_seq=after_seq, limit=PAGE, max_bytes=PAGE_BYTES):
        for event in page:
            yield event
        after_seq = page[-1].seq


async def watch_journal(journal: Journal, store: Store, *, after_seq: int) -> AsyncGenerator[Event]:
    """Every event after `after_seq`, each once, in order, until the journal is closed."""
    while True:
        page = journal.recent_after(after_seq)
        if not page and journal.committed_seq > after_seq:
            page = await store.read(journal.session_id, after_seq=after_seq, limit=PAGE, max_bytes=PAGE_BYTES)
        for event in page:
            yield event
            after_seq = event.seq
        if not page and not await journal.wait_beyond(after_seq):
            return


async def watch_store(
    session_id: SessionId, store: Store, clock: Clock, *, after_seq: int, until: Callable[[], bool]
) -> AsyncGenerator[Event]:
    """Every event after `after_seq`, each once, in order, until `until()` or until the session is deleted."""
    while not until():
        seen = await store.generation()
        page = await store.read(session_id, after_seq=after_seq, limit=PAGE, max_bytes=PAGE_BYTES)
        for event in page:
            yield event
            after_seq = event.seq
        if page:
            continue
        if await store.summary(session_id) is None:
            return
        while not until() and await store.generation() == seen:
            await clock.sleep(LOOK_SECONDS)


def ends_turn(event: Event) -> bool:
    """Whether this event is the last of a turn."""
    payload = event.payload
    return isinstance(payload, StateChanged) and payload.previous.active and not payload.state.active
