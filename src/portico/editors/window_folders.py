"""Folders of an editor window by the names the window gives them and by their real paths.

Sessions use real paths. A window that was opened through a link uses the path of the link.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from portico.domain.errors import InvalidInput


class WindowFolders:
    """Blocks while links are followed. InvalidInput for a folder that is not absolute."""

    def __init__(self, folders: Sequence[str]) -> None:
        for folder in folders:
            if not Path(folder).is_absolute() or "\0" in folder:
                raise InvalidInput(
                    f"The folder {folder!r} is not absolute.", suggestion="Give each folder's full path."
                )
        self._pairs = tuple((Path(folder), Path(os.path.realpath(folder))) for folder in folders)

    def touch(self, workspace: Path) -> bool:
        """Whether one of the folders is, contains or is inside this folder, given by its real path."""
        return any(
            real.is_relative_to(workspace) or workspace.is_relative_to(real) for _, real in self._pairs
        )

    def real(self, path: str) -> str:
        """The real path of a file, as sessions use it."""
        for given, real in self._pairs:
            if Path(path).is_relative_to(given):
                return str(real / Path(path).relative_to(given))
        return path

    def given(self, path: str) -> str:
        """The path of a file as the window uses it."""
        for given, real in self._pairs:
            if Path(path).is_relative_to(real):
                return str(given / Path(path).relative_to(real))
        return path
