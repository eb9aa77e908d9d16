"""The folders of a session: resolves paths, and refuses those outside them or private."""

import os
from pathlib import Path, PurePosixPath

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.secret_files import is_private
from portico.porter.markdown import inline_code


class Workspace(msgspec.Struct, frozen=True):
    """The session's folder, which relative paths start from, and additional folders."""

    root: Path
    others: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root, *self.others)

    def locate(self, name: str) -> Path:
        """Return the absolute path of a name."""
        plain = unquoted(name.strip())
        if not plain or "\0" in plain:
            raise InvalidInput("That is not a valid file name.")
        return Path(os.path.normpath(self.root / plain))

    def inside(self, path: Path) -> Path:
        """Resolve links in a path. Raises PermissionDenied outside the session's folders, and for private files."""
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise PermissionDenied(
                f"{path} is outside the folders of this session.",
                suggestion=f"This session works in {self.root}.",
            )
        if is_private(real.parts) or is_private(path.parts):
            raise PermissionDenied(f"{self.shown(path)} may contain secrets, so Porter does not access it.")
        return real

    def entry(self, path: Path) -> Path:
        """Resolve links in the parent of a path, but not a link at the path itself."""
        self.inside(path)
        return self.inside(path.parent) / path.name

    def place(self, name: str) -> Path:
        """Return the real path of a file or folder. Raises InvalidInput if it does not exist."""
        real = self.inside(self.locate(name))
        if not exists(real):
            raise InvalidInput(f"No such file or folder: {inline_code(name)}.")
        return real

    def shown(self, path: Path) -> str:
        """Return a path to show, relative to the session's folder if it is inside."""
        for base in (self.root, Path(os.path.realpath(self.root))):
            if path.is_relative_to(base):
                return str(PurePosixPath(*path.relative_to(base).parts))
        return str(path)


def exists(path: Path) -> bool:
    """Return whether a path exists; false for an invalid name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    return exists(path) and path.is_dir()


def unquoted(name: str) -> str:
    """Remove quotes or backticks around a name."""
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "\"'`":
        return name[1:-1]
    return name


def first_word(text: str) -> tuple[str, str]:
    """Split off the first word, which may be quoted."""
    text = text.lstrip()
    if text[:1] in ("'", '"') and (end := text.find(text[0], 1)) > 0:
        return text[1:end], text[end + 1 :].lstrip(" \t")
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word, text[len(word) :].lstrip(" \t")
