"""Lease on a working tree, which has one writer at a time in all processes."""

from portico.domain.errors import SessionBusy
from portico.domain.events import Notice
from portico.domain.ids import SessionId
from portico.sessions.ports import Lease, Store, tree_lease_name
from portico.sessions.runtime import SessionRuntime
from portico.sessions.turn import Turn

POLL_SECONDS = 0.25


async def wait_for_tree_lease(session: SessionRuntime, turn: Turn, *, wait: bool) -> Lease:
    """The right to write in the session's folder. SessionBusy with three ways on, if nobody is to wait for it."""
    store, clock = session.ports.store, session.ports.clock
    name = tree_lease_name(session.workspace)
    told = False
    while (lease := store.lease(name, session.id)) is None:
        holder = store.lease_holder(name)
        if not wait or turn.stopping:
            raise SessionBusy(
                f"{f'Session {holder}' if holder else 'Another session'} is working in {session.workspace}.",
                suggestion="Stop it, wait for it with --wait, work beside it with --mode worktree or proposal, "
                "or only read (--read-only).",
            )
        if not told:
            text = f"Waiting for {await _named(store, holder)}, which is working in this folder."
            session.journal.record(Notice(level="info", text=text))
            told = True
        await clock.sleep(POLL_SECONDS)
    return lease


async def _named(store: Store, holder: str | None) -> str:
    """A session as its person knows it: by its title or first words, and only without any by its id."""
    if holder is None:
        return "another session"
    summary = await store.summary(SessionId(holder))
    return f"“{summary.title}”" if summary is not None and summary.title else f"session {holder}"
