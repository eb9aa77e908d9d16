"""Store of sessions opened by ACP editors: agent session ID to Portico session ID.

An editor may come back to a session after all of its processes are gone, and names it as the agent does.
"""

import contextlib
import hashlib
import secrets
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.domain.errors import StoreFailed
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder, write_private


class EditorSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its names: the agent's for it, and ours."""

    agent: str
    agent_session_id: str
    session_id: SessionId
    workspace: str
    mode: ReviewMode


class EditorSessions:
    """The sessions of all agents, a small file for each, in a folder of the state folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, agent: str, agent_session_id: str) -> EditorSession | None:
        return _read(self._place(agent, agent_session_id))

    def all(self) -> list[EditorSession]:
        """All readable sessions, most recently opened first."""
        try:
            places = sorted(
                self._folder.glob("*.json"), key=lambda place: place.stat().st_mtime_ns, reverse=True
            )
        except OSError:
            return []
        return [one for place in places if (one := _read(place)) is not None]

    def remember(self, session: EditorSession) -> None:
        place = self._place(session.agent, session.agent_session_id)
        beside = place.with_name(f".{secrets.token_hex(6)}.new")
        try:
            make_private_folder(self._folder)
            write_private(beside, msgspec.json.encode(session))
            beside.replace(place)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise StoreFailed(f"The session could not be recorded ({error.strerror or error}).") from error

    def forget(self, agent: str, agent_session_id: str) -> None:
        with contextlib.suppress(OSError):
            self._place(agent, agent_session_id).unlink(missing_ok=True)

    def _place(self, agent: str, agent_session_id: str) -> Path:
        name = hashlib.sha256(f"{agent}\0{agent_session_id}".encode(errors="surrogatepass")).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _read(place: Path) -> EditorSession | None:
    try:
        return codecs.decode_json(place.read_bytes(), EditorSession)
    except (OSError, msgspec.DecodeError):
        return None
