"""Decides where a path of a change really is, and refuses the places that a change must not touch.

Paths are judged after every symbolic link in them is followed. Nothing is written here.
"""

import os
import stat
import unicodedata
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.privacy import plain_name

_OF_GIT = {".git", "git~1"}


class Places:
    """The bounds of one folder."""

    def __init__(self, folder: Path, *, folds_names: bool) -> None:
        self.root = Path(os.path.realpath(folder))
        self._folds = folds_names
        if not self.root.is_dir():
            raise InvalidInput(f"{folder} is not a folder, so nothing can be applied to it.")

    def folder(self, path: str) -> Path:
        """Where a folder is."""
        return self._inside(path, _parts(path))

    def file(self, path: str, *, leaving: Collection[Path] | None) -> Path:
        """Where a file is that goes away, or where one arrives once others are `leaving`."""
        parts = _parts(path)
        place = self._inside(path, parts[:-1]) / parts[-1]
        if place.is_symlink():
            if leaving is None:
                raise InvalidInput(f"{path} is a symbolic link; only files can be removed or renamed.")
            place = self._inside(path, parts)
        self._check_name(path, place, leaving or ())
        try:
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return place
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            return place
        raise InvalidInput(f"{path} is a device, pipe, socket or broken link, not a regular file.")

    def folded(self, place: Path) -> str:
        """The same for all names that mean one file here."""
        return unicodedata.normalize("NFC", str(place)).casefold() if self._folds else str(place)

    def _inside(self, path: str, parts: tuple[str, ...]) -> Path:
        place = Path(os.path.realpath(self.root.joinpath(*parts)))
        if not place.is_relative_to(self.root):
            raise PermissionDenied(
                f"{path} leads out of the folder {self.root}; nothing was changed.",
                suggestion="Leave this file out, or apply the change in the folder it belongs to.",
            )
        for names in (parts, place.relative_to(self.root).parts):
            if not _OF_GIT.isdisjoint(map(plain_name, names)):
                raise PermissionDenied(f"{path} belongs to git itself; nothing was changed.")
        return place

    def _check_name(self, path: str, place: Path, leaving: Collection[Path]) -> None:
        """Refuse a name under which the file system finds a file of another name."""
        if not _OF_GIT.isdisjoint({plain_name(place.name)}):
            raise PermissionDenied(f"{path} belongs to git itself; nothing was changed.")
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
            suggestion="Paths of a change are relative and do not climb.",
        )
    return parts
