"""Leases on session logs and working trees, each of which has one writer at a time in all processes."""

import os
from pathlib import Path

from portico.domain.errors import SessionBusy
from portico.domain.ids import SessionId
from portico.sessions.ports import Lease, Store

_HOST = "host "


def session_runner() -> str:
    """The holder name of a process that runs sessions, by which it knows its own leases."""
    return f"{_HOST}{os.urandom(8).hex()}"


def runs_session(holder: str) -> bool:
    """Whether the holder of a lease runs the session, and does not just repair or review it."""
    return holder.startswith(_HOST)


def session_lease_name(session_id: SessionId) -> str:
    """Name of the lease on a session's log."""
    return f"session {session_id}"


def tree_lease_name(workspace: Path | str) -> str:
    """Name of the lease on a working tree."""
    return f"tree {workspace}"


async def session_holder(store: Store, session_id: SessionId) -> str | None:
    """The process that has a session open, or None."""
    return await store.lease_holder(session_lease_name(session_id))


async def take_session_lease(
    store: Store, session_id: SessionId, holder: str, *, suggestion: str | None = None
) -> Lease:
    """Lease a session's log. SessionBusy while another process has the session open."""
    lease = await store.lease(session_lease_name(session_id), holder)
    if lease is None:
        raise SessionBusy.open_elsewhere(session_id, suggestion=suggestion)
    return lease


async def take_tree_lease(
    store: Store, session_id: SessionId, workspace: Path | str, *, suggestion: str | None = None
) -> Lease:
    """Lease the working tree for a session. SessionBusy while another session works in it."""
    name = tree_lease_name(workspace)
    lease = await store.lease(name, session_id)
    if lease is None:
        raise SessionBusy.folder_in_use(await store.lease_holder(name), workspace, suggestion=suggestion)
    return lease
