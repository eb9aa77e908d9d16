"""Decides which files an agent may use: inside the workspace only, and no secrets.

Paths are checked both as given and after following all symbolic links.
"""

import os
from enum import StrEnum
from pathlib import Path

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.secret_files import holds_credential, is_private, plain_name

_READ_ONLY_FOLDERS = {".git", "git~1"}


class FileAccess(StrEnum):
    READ = "read"
    WRITE = "write"


class PathGuard:
    """Path rules of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self._given = Path(os.path.abspath(workspace))  # noqa: PTH100 - links must stay as they were given
        self.root = Path(os.path.realpath(workspace))

    def resolve(self, path: str) -> Path:
        """The real path of a path relative to the workspace. PermissionDenied outside of it."""
        if not path or "\0" in path:
            raise InvalidInput("The path is empty." if not path else "The path holds a NUL character.")
        real = Path(os.path.realpath(self.root / path))
        if not real.is_relative_to(self.root):
            raise PermissionDenied(
                f"{path} is outside the workspace {self.root}; only what is inside can be used.",
                suggestion="Use a path inside the workspace, or ask the person to work in another folder.",
            )
        return real

    def check(self, path: str, access: FileAccess) -> Path:
        """The real path of a file, if the agent may access it. PermissionDenied if not."""
        real, asked = self._both(path)
        for place in (real, asked):
            for base in (self.root, self._given):
                if place.is_relative_to(base) and _is_denied(place.relative_to(base).parts, access):
                    raise PermissionDenied(
                        f"{path} may hold secrets or belongs to git; agents must not {access} it.",
                        suggestion="Continue without it, or ask the person for what you need from it.",
                    )
        return real

    def check_text(self, path: str, text: str) -> str:
        """The text of a file, if the agent may see it. PermissionDenied if it contains a credential."""
        if any(holds_credential(place.parts, text) for place in self._both(path)):
            raise PermissionDenied(
                f"{path} has a password or token in it; agents must not read it.",
                suggestion="Use git itself, as in “git remote”, or ask the person for what you need from it.",
            )
        return text

    def names(self, path: str, access: FileAccess) -> tuple[str, ...]:
        """The names by which a file is checked: its real path, and the path as given."""
        self.check(path, access)
        return tuple(dict.fromkeys(map(str, self._both(path))))

    def _both(self, path: str) -> tuple[Path, Path]:
        return self.resolve(path), Path(os.path.normpath(self._given / path))


def _is_denied(parts: tuple[str, ...], access: FileAccess) -> bool:
    if is_private(parts):
        return True
    return access is FileAccess.WRITE and not _READ_ONLY_FOLDERS.isdisjoint(map(plain_name, parts))
