"""Look up sessions by ID prefix or by the folder they were last used in."""

import stat
from pathlib import Path

from portico.domain.errors import InvalidInput, SessionNotFound
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.ports import Store

_LONGEST_NAME = 200
_SEE_ALL = "See them all with: portico sessions list"


async def show(store: Store, session_id: SessionId) -> SessionSummary:
    """The session with exactly this id."""
    summary = await store.summary(session_id)
    if summary is None:
        raise SessionNotFound(f"There is no session {session_id}.", suggestion=_SEE_ALL)
    return summary


async def find_session(store: Store, abbreviation: str) -> SessionSummary:
    """The session whose id begins like this."""
    if not abbreviation:
        raise SessionNotFound("The session's id is empty.", suggestion=_SEE_ALL)
    found = await store.summaries(id_prefix=abbreviation, limit=2)
    exact = [summary for summary in found if summary.session_id == abbreviation]
    if len(found) > 1 and not exact:
        raise SessionNotFound(
            f"Several sessions begin with {abbreviation}.", suggestion="Give more of the id."
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


def resolve_workspace(workspace: Path) -> str:
    """A folder by the one name that sessions know it by."""
    if not is_folder(workspace):
        raise _unusable(workspace, "is not a folder")
    return str(workspace.resolve())


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False if there is nothing. InvalidInput for what cannot be one."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(path, f"cannot be used: {error.strerror}") from error
    except ValueError as error:
        raise _unusable(path, f"cannot be used: {error}") from error
    if not stat.S_ISDIR(mode):
        raise _unusable(path, "is not a folder")
    return True


def _unusable(path: Path, what: str) -> InvalidInput:
    name = str(path) if str(path).isprintable() else ascii(str(path))
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return InvalidInput(f"{shown} {what}.", suggestion="Give a folder that exists and that you may enter.")
