"""Looks up sessions by ID prefix or by the folder they were last used in."""

from pathlib import Path

from portico.domain.errors import SessionNotFound
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.files.workspace import resolve_workspace
from portico.sessions.ports import Store

_SEE_ALL = "List all sessions with: portico sessions list"


async def show(store: Store, session_id: SessionId) -> SessionSummary:
    """The session with this id. SessionNotFound if there is none."""
    summary = await store.summary(session_id)
    if summary is None:
        raise SessionNotFound(f"Session {session_id} does not exist.", suggestion=_SEE_ALL)
    return summary


async def find_session(store: Store, abbreviation: str) -> SessionSummary:
    """The session whose id has this prefix."""
    if not abbreviation:
        raise SessionNotFound("The session ID is empty.", suggestion=_SEE_ALL)
    found = await store.summaries(id_prefix=abbreviation, limit=2)
    exact = [summary for summary in found if summary.session_id == abbreviation]
    if len(found) > 1 and not exact:
        raise SessionNotFound(
            f"Several session IDs start with {abbreviation}.", suggestion="Give more of the ID."
        )
    return (exact or found)[0] if found else await show(store, SessionId(abbreviation))


async def latest_session(store: Store, workspace: Path) -> SessionSummary:
    """The session last used in a folder."""
    found = await store.summaries(workspace=resolve_workspace(workspace), limit=1)
    if not found:
        raise SessionNotFound(
            f"No session has been used in {workspace} yet.", suggestion="Leave out --continue to start one."
        )
    return found[0]
