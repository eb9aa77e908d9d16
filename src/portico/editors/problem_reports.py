"""Problems of files as attached windows report them, and the sessions that listen.

A window reports the whole list of a file whenever it changes. What a window has reported is forgotten with it.
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from portico.domain.problems import Problem
from portico.sessions.ports import HearProblems

MOST_FILES = 5_000
MOST_PROBLEMS = 200
"""Problems of one file that are kept."""


class WindowProblems:
    """Implements `sessions.ports.ProblemReports`."""

    def __init__(self, covers: Callable[[Path], bool] = lambda _: True) -> None:
        self.covers = covers
        self._lists: dict[str, tuple[str, tuple[Problem, ...]]] = {}
        self._listeners: dict[object, tuple[PurePath, HearProblems]] = {}

    def known(self, workspace: Path, path: str) -> tuple[Problem, ...]:
        return self._lists.get(str(_real(workspace) / path), ("", ()))[1]

    def listen(self, workspace: Path, hear: HearProblems) -> Callable[[], None]:
        key = object()
        self._listeners[key] = (_real(workspace), hear)

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop

    def update(self, editor_id: str, path: str, problems: Sequence[Problem]) -> None:
        """Replace the list of a file, given by its real path."""
        kept = tuple(problems[:MOST_PROBLEMS])
        self._lists.pop(path, None)
        if kept:
            self._lists[path] = (editor_id, kept)
        if len(self._lists) > MOST_FILES:
            del self._lists[next(iter(self._lists))]
        place = PurePath(path)
        for folder, hear in list(self._listeners.values()):
            if place.is_relative_to(folder):
                hear(place.relative_to(folder).as_posix(), kept)

    def forget(self, editor_id: str) -> None:
        """Forget what a window reported, without telling anyone: the problems are not solved by that."""
        self._lists = {path: one for path, one in self._lists.items() if one[0] != editor_id}


@lru_cache(maxsize=64)
def _real(workspace: Path) -> PurePath:
    return PurePath(os.path.realpath(workspace))
