"""List of workspace files and folders for completion, bounded and cached for a short while.

git lists names only, with the setting disabled that could start a program of the workspace.
"""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from portico.doors.path_search import best_matches, with_folders
from portico.processes.git_settings import safe_git_environ, safe_git_options

_MOST_FILES = 20_000
_REMEMBERED_SECONDS = 15.0
_GIT_SECONDS = 3.0
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", "target", "dist"}
)


class WorkspaceFiles:
    """Paths of a folder, listed on demand."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._paths: list[str] = []
        self._read_at = float("-inf")

    def matching(self, typed: str, limit: int = 12) -> list[str]:
        """The best matches, best first."""
        now = self._clock()
        if now - self._read_at > _REMEMBERED_SECONDS:
            self._paths = with_folders(list_files(self._folder))
            self._read_at = self._clock()
        return [match.path for match in best_matches(self._paths, typed, limit)]


def list_files(folder: Path) -> list[str]:
    """The files of a folder as git lists them; without git, a walk that skips hidden and generated folders."""
    return _git_files(folder) or _walked_files(folder)


def _git_files(folder: Path) -> list[str]:
    command = [
        "git",
        *safe_git_options(),
        "ls-files",
        "-z",
        "-co",
        "--exclude-standard",
        "--deduplicate",
    ]
    environ = safe_git_environ(os.environ)
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
