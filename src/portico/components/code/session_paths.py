"""Translation of paths between a session's folder and the person's workspace.

Both have the same files under the same relative names, but a session in a tree of its own has other folders before
them, and may have changed what stands in them.
"""

import os
import re
from pathlib import Path, PurePath

import msgspec

from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.domain.ids import SessionId
from portico.domain.secret_files import is_private


class SessionPaths(msgspec.Struct, frozen=True):
    session_id: SessionId
    workspace: Path
    folder: Path

    @classmethod
    def of(cls, session: ChainSession) -> "SessionPaths":
        workspace = session.placed.workspace or session.cwd
        return cls(SessionId(session.placed.session), Path(workspace), Path(session.cwd))

    @property
    def apart(self) -> bool:
        return self.folder != self.workspace

    def theirs(self, path: str) -> str:
        """The person's file that an agent means, be it named in its own folder or in the person's."""
        place = self._absolute(path)
        moved = self.apart and place.is_relative_to(self.folder)
        return str(self.workspace / place.relative_to(self.folder) if moved else place)

    def own(self, path: str) -> str:
        """The session's file that an agent means, be it named in its own folder or in the person's."""
        place = self._absolute(path)
        moved = place.is_relative_to(self.workspace) and not place.is_relative_to(self.folder)
        return str(self.folder / place.relative_to(self.workspace) if moved else place)

    def shown(self, path: str) -> str:
        """A file as the agent finds it: by the name that it has in both folders."""
        return self._relative(path).as_posix()

    def hides(self, path: str) -> bool:
        """Whether agents must not look into a file."""
        return is_private(self._relative(path).parts)

    def _absolute(self, path: str) -> PurePath:
        return PurePath(os.path.normpath(self.folder / path))

    def _relative(self, path: str) -> PurePath:
        place = PurePath(path)
        for base in (self.folder, self.workspace):
            if place.is_relative_to(base):
                return place.relative_to(base)
        return place


def find_symbol(text: str, symbol: str, line: int) -> tuple[int, int] | None:
    """Position of a name nearest to a line, which counts from one: line and column as editors count them."""
    before = r"(?<!\w)" if symbol[:1].isidentifier() else ""
    after = r"(?!\w)" if symbol[-1:].isidentifier() or symbol[-1:].isdigit() else ""
    pattern = re.compile(before + re.escape(symbol) + after)
    lines = text.split("\n")
    asked = min(max(line - 1, 0), len(lines) - 1)
    for distance in range(len(lines)):
        for number in (asked - distance, asked + distance):
            if 0 <= number < len(lines) and (found := pattern.search(lines[number])) is not None:
                return number, len(lines[number][: found.start()].encode("utf-16-le")) // 2
    return None
