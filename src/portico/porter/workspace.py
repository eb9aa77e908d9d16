"""The folders of a session: resolves names in them and refuses what lies outside or is private."""

import os
from pathlib import Path, PurePosixPath

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.secret_files import is_private
from portico.porter.markdown import inline_code


class Workspace(msgspec.Struct, frozen=True):
    """The session's folder, where relative names begin, and the further folders it may use."""

    root: Path
    others: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root, *self.others)

    def locate(self, name: str) -> Path:
        """The absolute path that a person means by a name."""
        plain = unquoted(name.strip())
        if not plain or "\0" in plain:
            raise InvalidInput("That is not the name of a file.")
        return Path(os.path.normpath(self.root / plain))

    def inside(self, path: Path) -> Path:
        """Where a path really leads, links followed. PermissionDenied outside the session's folders."""
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise PermissionDenied(
                f"{path} is outside the folders of this session.",
                suggestion=f"This session works in {self.root}.",
            )
        if is_private(real.parts) or is_private(path.parts):
            raise PermissionDenied(f"{self.shown(path)} may hold secrets, so Porter leaves it alone.")
        return real

    def entry(self, path: Path) -> Path:
        """Where a file, or a link itself, really is: links are followed above it only."""
        self.inside(path)
        return self.inside(path.parent) / path.name

    def place(self, name: str) -> Path:
        """The real path of a file or folder that must be there. InvalidInput if it is not."""
        real = self.inside(self.locate(name))
        if not exists(real):
            raise InvalidInput(f"There is no file or folder {inline_code(name)} here.")
        return real

    def shown(self, path: Path) -> str:
        """A path as people like to read it: from the session's folder where it is inside."""
        for base in (self.root, Path(os.path.realpath(self.root))):
            if path.is_relative_to(base):
                return str(PurePosixPath(*path.relative_to(base).parts))
        return str(path)


def exists(path: Path) -> bool:
    """Whether something is there. A name that no file could have names nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    return exists(path) and path.is_dir()


def unquoted(name: str) -> str:
    """A name without the quotes or backticks that people put around it."""
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "\"'`":
        return name[1:-1]
    return name


def first_word(text: str) -> tuple[str, str]:
    """The first word, which may be quoted to hold spaces, and what follows it."""
    text = text.lstrip()
    if text[:1] in ("'", '"') and (end := text.find(text[0], 1)) > 0:
        return text[1:end], text[end + 1 :].lstrip(" \t")
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return word, text[len(word) :].lstrip(" \t")
