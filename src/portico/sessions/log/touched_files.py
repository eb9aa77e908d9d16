"""Files that the tool calls of a session changed, by the log."""

from collections.abc import Sequence
from pathlib import PurePath

from portico.domain.events import ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.values import DiffPart, Location, ToolKind, ToolPart

_CHANGES: dict[ToolKind, str] = {"edit": "edited", "delete": "deleted", "move": "moved"}


class TouchedFiles:
    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._calls: dict[str, tuple[ToolKind, tuple[str, ...]]] = {}
        """Running calls: their kind and files."""
        self._files: dict[str, str] = {}

    def add(self, payload: ToolStarted | ToolUpdated | ToolCompleted) -> None:
        kind, paths = self._calls.pop(payload.tool_id, ("other", ()))
        kind = payload.tool_kind or kind
        paths = _paths(payload.content or (), payload.locations or ()) or paths
        if not isinstance(payload, ToolCompleted):
            self._calls[payload.tool_id] = (kind, paths)
        elif payload.success and kind in _CHANGES:
            for path in paths:
                self._files.pop(path, None)
                self._files[path] = _CHANGES[kind]

    def lines(self, limit: int) -> list[str]:
        """The files that were changed last, and how."""
        newest = list(self._files.items())[-limit:]
        more = len(self._files) - len(newest)
        return [
            *(f"{self._short(path)} ({change})" for path, change in newest),
            *([f"and {more} more"] if more else []),
        ]

    def _short(self, path: str) -> str:
        try:
            return str(PurePath(path).relative_to(self._workspace))
        except ValueError:
            return path


def _paths(content: Sequence[ToolPart], locations: Sequence[Location]) -> tuple[str, ...]:
    """The files of the diffs of a call; without diffs, its places."""
    diffs = tuple(part.path for part in content if isinstance(part, DiffPart))
    return diffs or tuple(dict.fromkeys(place.path for place in locations))
