"""The files of a workspace that a person may want to name, and which of them fit what was typed.

Listing is bounded and remembered for a short while. Nothing in the workspace is run: git is asked
for names only, with the one setting switched off that could start a program.
"""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_MOST_FILES = 20_000
_REMEMBERED_SECONDS = 15.0
_GIT_SECONDS = 3.0
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "target", "dist"}
)


class WorkspaceFiles:
    """Paths relative to a folder, read when they are asked for."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._paths: list[str] = []
        self._read_at = float("-inf")

    def matching(self, typed: str, limit: int = 12) -> list[str]:
        """The paths that fit best, best first."""
        now = self._clock()
        if now - self._read_at > _REMEMBERED_SECONDS:
            self._paths = list_files(self._folder)
            self._read_at = self._clock()
        return best_matches(typed, self._paths, limit)


def best_matches(typed: str, paths: Sequence[str], limit: int) -> list[str]:
    """Paths in which the typed characters occur in order; those in the name, and close together, first."""
    wanted = typed.lower()
    if not wanted:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:limit]
    ranked: list[tuple[int, int, str]] = []
    for path in paths:
        distance = _distance(wanted, path.lower())
        if distance is not None:
            ranked.append((distance, len(path), path))
    return [path for _, _, path in sorted(ranked)[:limit]]


def _distance(wanted: str, path: str) -> int | None:
    """How far a path is from what was typed: 0 when its name begins with it, None when it does not fit."""
    name_start = path.rfind("/") + 1
    if path.startswith(wanted, name_start) or path.startswith(wanted):
        return 0
    if (found := path.find(wanted, name_start)) >= 0:
        return 1 + found - name_start
    if wanted in path:
        return 100
    start = place = path.find(wanted[0])
    for character in wanted[1:]:
        place = path.find(character, place + 1) if place >= 0 else -1
    return 200 + place - start if place >= 0 else None


def list_files(folder: Path) -> list[str]:
    """What git knows of a folder; without git, a walk that leaves out what nobody names."""
    return _git_files(folder) or _walked_files(folder)


def _git_files(folder: Path) -> list[str]:
    command = [
        "git",
        "-c",
        "core.fsmonitor=false",
        "ls-files",
        "-z",
        "-co",
        "--exclude-standard",
        "--deduplicate",
    ]
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    names = done.stdout.decode("utf-8", "replace").split("\0") if done.returncode == 0 else []
    return [name for name in names if name][:_MOST_FILES]


def _walked_files(folder: Path) -> list[str]:
    paths: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        inside = Path(parent).relative_to(folder)
        paths += [(inside / name).as_posix() for name in sorted(names)]
        if len(paths) >= _MOST_FILES:
            break
    return paths[:_MOST_FILES]
