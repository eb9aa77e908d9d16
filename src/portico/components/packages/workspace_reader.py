"""Bounded reads of a workspace's own files, none of them through a link.

A workspace is untrusted: its lockfiles may be huge, and its folders may be links to the person's other files.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from portico.files import real_path
from portico.files.folders import open_folder

LARGEST_LOCKFILE = 64 * 1024 * 1024
_MOST_FOLDERS = 400
_DEEPEST = 3
_NOT_SEARCHED = frozenset(
    {"node_modules", "target", "vendor", "dist", "build", "site-packages", "__pycache__"}
)


class WorkspaceReader:
    """The files beneath one folder. Paths are relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def read(self, path: str | PurePosixPath, *, limit: int = LARGEST_LOCKFILE) -> str | None:
        """The text of a file; None if there is none that can be read."""
        try:
            return real_path.read(self.root / path, limit=limit).decode(errors="replace")
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; none if it cannot be read."""
        try:
            return sorted(real_path.names(self.root / path))
        except OSError:
            return []

    def folder_inside(self, path: str) -> Path | None:
        """The real path of a folder, links resolved; None if that is outside the workspace, or not a folder."""
        found = Path(os.path.realpath(self.root / path))
        return found if found.is_relative_to(self.root) and found.is_dir() else None

    def find(self, wanted: Collection[str]) -> Iterator[str]:
        """Files of these names, those nearest to the root first."""
        folders: list[tuple[str, int]] = [("", 0)]
        for seen, (folder, depth) in enumerate(folders):
            if seen >= _MOST_FOLDERS:
                return
            files, inner = self._entries(folder)
            yield from (f"{folder}{name}" for name in files if name in wanted)
            if depth < _DEEPEST:
                folders += [(f"{folder}{name}/", depth + 1) for name in inner]

    def _entries(self, folder: str) -> tuple[list[str], list[str]]:
        files, folders = [], []
        try:
            with open_folder(self.root / folder) as opened, opened.scan() as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    elif (
                        entry.is_dir(follow_symlinks=False)
                        and entry.name not in _NOT_SEARCHED
                        and not entry.name.startswith(".")
                    ):
                        folders.append(entry.name)
        except OSError:
            return [], []
        return sorted(files), sorted(folders)
