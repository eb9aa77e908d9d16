"""Decides which files an agent may touch: inside the workspace only, and no secrets.

Paths are judged after every symbolic link in them is followed, and also as they were asked for.
"""

import os
import unicodedata
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from portico.domain.errors import InvalidInput, PermissionDenied

_PRIVATE_NAMES = (
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
)
_PUBLIC_NAMES = (".env.example", ".env.sample", ".env.template")
_PRIVATE_FOLDERS = {".ssh"}
_READ_ONLY_FOLDERS = {".git", "git~1"}


class Access(StrEnum):
    READ = "read"
    WRITE = "write"


class Guard:
    """The bounds of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self._given = Path(os.path.abspath(workspace))  # noqa: PTH100 - links must stay as they were given
        self.root = Path(os.path.realpath(workspace))

    def resolve(self, path: str) -> Path:
        """The real place of a path, relative ones starting at the workspace. Denied outside of it."""
        if not path or "\0" in path:
            raise InvalidInput("The path is empty." if not path else "The path holds a NUL character.")
        real = Path(os.path.realpath(self.root / path))
        if not real.is_relative_to(self.root):
            raise PermissionDenied(
                f"{path} is outside the workspace {self.root}; only what is inside can be used.",
                suggestion="Use a path inside the workspace, or ask the person to work in another folder.",
            )
        return real

    def check(self, path: str, access: Access) -> Path:
        """Where a file really is, if the agent may use it so. PermissionDenied if not."""
        real = self.resolve(path)
        asked = Path(os.path.normpath(self._given / path))
        for place in (real, asked):
            for base in (self.root, self._given):
                if place.is_relative_to(base) and _is_denied(place.relative_to(base).parts, access):
                    raise PermissionDenied(
                        f"{path} may hold secrets or belongs to git; agents must not {access} it.",
                        suggestion="Go on without it, or ask the person for what you need from it.",
                    )
        return real


def _is_denied(parts: tuple[str, ...], access: Access) -> bool:
    names = [_plain(part) for part in parts]
    if not names:
        return False
    if _PRIVATE_FOLDERS.intersection(names):
        return True
    if access is Access.WRITE and _READ_ONLY_FOLDERS.intersection(names):
        return True
    name = names[-1]
    return name not in _PUBLIC_NAMES and any(fnmatchcase(name, pattern) for pattern in _PRIVATE_NAMES)


def _plain(name: str) -> str:
    """A name as forgiving file systems see it: case, invisible characters, streams, trailing dots."""
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return visible.casefold().partition(":")[0].rstrip(". ") or visible
