"""Sessions of the scripted agent, each an append-only list of updates, kept in a folder if there is one.

Everything else about a session (its title, its mode, how many prompts it had) is read off that list.
"""

from __future__ import annotations

import json
import threading

from portico.testing.agent import files
from portico.testing.agent.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from portico.testing.agent.wire import Json

SUFFIX = ".jsonl"


class ScriptedSession:
    def __init__(self, session_id: str, cwd: str, path: str | None, updates: list[Json]) -> None:
        self.id = session_id
        self.cwd = cwd
        self.updates = updates
        self.servers: list[Json] = []
        self._path = path
        self._saved = len(updates)
        self._lock = threading.Lock()

    def record(self, update: Json) -> None:
        self.updates.append(update)

    def record_prompt(self, blocks: list[Json]) -> int:
        """Remember what the person said; which prompt of this session it is, from 1."""
        number = self.prompts + 1
        for block in blocks:
            self.record(
                {"sessionUpdate": "user_message_chunk", "content": block, "messageId": f"prompt-{number}"}
            )
        return number

    @property
    def prompts(self) -> int:
        last = self.last("user_message_chunk", "messageId")
        return 0 if last is None else int(str(last).removeprefix("prompt-"))

    def last(self, kind: str, field: str) -> object:
        """The newest value of a field in updates of a kind, or None."""
        about = (update for update in reversed(self.updates) if update["sessionUpdate"] == kind)
        return next((update[field] for update in about if field in update), None)

    def save(self) -> None:
        """Put what is new into the folder, where a later process can find it."""
        with self._lock:
            fresh = self.updates[self._saved :]
            if self._path is not None and fresh:
                # The line break comes first: what follows a half line of a killed process stays readable.
                files.append(self._path, b"".join(b"\n" + encode(update) for update in fresh))
            self._saved += len(fresh)

    def forget(self) -> None:
        """A turn may still be under way; what it says from now on is kept nowhere."""
        with self._lock:
            self._path = None

    def describe(self) -> Json:
        info = {name: self.last("session_info_update", name) for name in ("title", "updatedAt")}
        known = {name: value for name, value in info.items() if value is not None}
        return {"sessionId": self.id, "cwd": self.cwd, **known}


class ScriptedSessionStore:
    """Every session that was ever made, here or in the folder, and those that are open in this process."""

    def __init__(self, folder: str | None) -> None:
        self.open: dict[str, ScriptedSession] = {}
        self._folder = folder
        self._made: dict[str, ScriptedSession] = {}

    def create(self, cwd: str) -> ScriptedSession:
        """Numbered from 1, so the ids of two processes without a shared folder are the same: clients must cope."""
        number = len(self._made) + 1
        while self._folder is not None and not files.claim(self._path(f"scripted-{number}")):
            number += 1
        session_id = f"scripted-{number}"
        path = None if self._folder is None else self._path(session_id)
        if path is not None:
            files.append(path, encode({"cwd": cwd}))
        session = ScriptedSession(session_id, cwd, path, [])
        self.reopen(session)
        return session

    def find(self, session_id: str) -> ScriptedSession | None:
        if session_id in self._made or self._folder is None:
            return self._made.get(session_id)
        return self._read(session_id) if session_id in self._names() else None

    def all(self) -> list[ScriptedSession]:
        found = [self.find(session_id) for session_id in {*self._made, *self._names()}]
        return sorted((session for session in found if session is not None), key=_number)

    def delete(self, session_id: str) -> None:
        self.open.pop(session_id, None)
        if made := self._made.pop(session_id, None):
            made.forget()
        if session_id in self._names():
            files.remove(self._path(session_id))

    def reopen(self, session: ScriptedSession) -> None:
        self._made[session.id] = self.open[session.id] = session

    def _read(self, session_id: str) -> ScriptedSession | None:
        path = self._path(session_id)
        head, *updates = [*_whole_lines(files.read(path))] or [{}]
        return ScriptedSession(session_id, head["cwd"], path, updates) if head else None

    def _names(self) -> list[str]:
        if self._folder is None:
            return []
        return [name.removesuffix(SUFFIX) for name in files.names_in(self._folder) if name.endswith(SUFFIX)]

    def _path(self, session_id: str) -> str:
        return files.absolute(f"{session_id}{SUFFIX}", self._folder or "")


def _whole_lines(content: bytes) -> Iterator[Json]:
    """The complete lines; a process may have been killed in the middle of one."""
    for line in content.split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _number(session: ScriptedSession) -> int:
    return int(session.id.removeprefix("scripted-"))
