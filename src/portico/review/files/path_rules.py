"""Path rules of an apply: where a path really is after links, and which places are refused.

Paths are judged after every symbolic link in them is followed. Nothing is written here.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.secret_files import plain_name

_OF_GIT = {".git", "git~1"}


class PathRules:
    """Path rules of one folder."""

    def __init__(self, folder: Path, *, folds_names: bool) -> None:
        self.root = Path(os.path.realpath(folder))
        self._folds = folds_names
        self._going: frozenset[Path] = frozenset()
        self._resolved: dict[tuple[str, ...], Path] = {}
        if not self.root.is_dir():
            raise InvalidInput(
                f"{folder} is not a folder, so nothing can be applied to it.",
                suggestion="Put the folder back where it was, then try again.",
            )

    def let_go(self, links: Iterable[Path]) -> None:
        """Declare symbolic links that are going to be removed, so that nothing follows them."""
        self._going = frozenset(one for one in links if one.is_symlink())

    def is_behind_going(self, place: Path) -> bool:
        """Whether a path goes through a link that is going to be removed."""
        return bool(self._going) and not self._going.isdisjoint(place.parents)

    def folder(self, path: str) -> Path:
        """Real path of a folder, which need not exist yet."""
        return self._above(path, (*_parts(path), "any"))

    def file(self, path: str, *, leaving: Collection[Path] | None) -> Path:
        """Real path of a file that is removed, or of a new one once others are `leaving`."""
        parts = _parts(path)
        place = self._above(path, parts) / parts[-1]
        if place.is_symlink() and place not in self._going:
            if leaving is None:
                raise InvalidInput(
                    f"{path} is a symbolic link by now, and was a file; nothing was changed.",
                    suggestion="Leave this file out, or put the file back in the place of the link.",
                )
            place = self._inside(path, parts)
        return self._checked(path, place, leaving or (), links=place in self._going)

    def entry(self, path: str, *, leaving: Collection[Path] = ()) -> Path:
        """Real path of a symbolic link itself, or of the file in its place."""
        parts = _parts(path)
        return self._checked(path, self._above(path, parts) / parts[-1], leaving, links=True)

    def folded(self, place: Path) -> str:
        """Key that is equal for all names of one file in this file system."""
        return unicodedata.normalize("NFC", str(place)).casefold() if self._folds else str(place)

    def _checked(self, path: str, place: Path, leaving: Collection[Path], *, links: bool) -> Path:
        self._check_name(path, place, leaving)
        try:
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return place
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            if self.is_behind_going(place):
                return place
            raise InvalidInput(
                f"{path} leads through links that go in a circle; nothing was changed.",
                suggestion="Leave this file out, or fix the links.",
            ) from error
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode) or (links and stat.S_ISLNK(mode)):
            return place
        raise InvalidInput(
            f"{path} is a device, pipe, socket or broken link, not a regular file.",
            suggestion="Leave this file out, or move away what is there.",
        )

    def _above(self, path: str, parts: tuple[str, ...]) -> Path:
        """Parent folder of a file, once links that are going to be removed are gone."""
        for number, part in enumerate(parts[:-1] if self._going else ()):
            step = self._inside(path, parts[:number]) / part
            if step in self._going:
                self._check_git(path, parts)
                return step.joinpath(*parts[number + 1 : -1])
        return self._inside(path, parts[:-1])

    def _inside(self, path: str, parts: tuple[str, ...]) -> Path:
        if (known := self._resolved.get(parts)) is not None:
            return known
        place = Path(os.path.realpath(self.root.joinpath(*parts)))
        if not place.is_relative_to(self.root):
            raise PermissionDenied(
                f"{path} leads out of the folder {self.root}; nothing was changed.",
                suggestion="Leave this file out, or apply the change in the folder it belongs to.",
            )
        for names in (parts, place.relative_to(self.root).parts):
            self._check_git(path, names)
        self._resolved[parts] = place
        return place

    @staticmethod
    def _check_git(path: str, names: tuple[str, ...]) -> None:
        if not _OF_GIT.isdisjoint(map(plain_name, names)):
            raise PermissionDenied(f"{path} belongs to git itself; nothing was changed.")

    def _check_name(self, path: str, place: Path, leaving: Collection[Path]) -> None:
        """Refuse a name that the file system maps to an existing file with another name."""
        self._check_git(path, (place.name,))
        if not self._folds or not place.parent.is_dir():
            return
        names = os.listdir(place.parent)  # noqa: PTH208 - names only
        if place.name in names:
            return
        twin = next((one for one in names if self.folded(Path(one)) == self.folded(Path(place.name))), None)
        if twin is not None and place.with_name(twin) not in leaving:
            raise InvalidInput(
                f"{path} and the file {twin} that is there differ only in case or Unicode form, "
                "which this file system takes for one name; nothing was changed.",
                suggestion=f"Use the name {twin}, or rename it first.",
            )


def link_leads_to(folder: Path, path: str, target: bytes) -> str | None:
    """Target of a link as a path in the folder; None if it is outside."""
    root = os.path.realpath(folder)
    above = os.path.realpath(Path(root, path).parent)
    place = Path(os.path.realpath(Path(above, os.fsdecode(target))))
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else None


def _parts(path: str) -> tuple[str, ...]:
    if not path or "\0" in path:
        raise InvalidInput("A path is empty." if not path else "A path holds a NUL character.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise InvalidInput("A path holds characters that no file name can have.") from error
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/") or path.endswith("/") or Path(path).is_absolute():
        raise PermissionDenied(
            f"{path} is not a path inside the folder; nothing was changed.",
            suggestion="Use paths relative to the folder, without “..”.",
        )
    return parts
