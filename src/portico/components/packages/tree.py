"""The files of one package, read where they are and never through a link.

A tree is either a folder of the cache, or the place where the workspace has the package installed. There it may share
a folder with others, so a tree knows which entries are its own.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from portico.components.packages.errors import PackageNotFound
from portico.domain.errors import InvalidInput
from portico.domain.secret_files import is_private
from portico.files import real_path
from portico.files.folders import open_folder

LARGEST_FILE = 8 * 1024 * 1024
_MOST_FILES = 60_000
_TEXT_PROBE = 8 * 1024


class PackageFile(msgspec.Struct, frozen=True):
    """A file by its path in the package."""

    path: str
    size: int


class PackageTree(msgspec.Struct, frozen=True, kw_only=True):
    """`root` is a real path. `entries` are the files and folders in it that belong to the package; none means all."""

    root: Path
    entries: tuple[str, ...] = ()
    nested: frozenset[str] = frozenset()
    """Names of folders that hold other packages."""

    def files(self) -> Iterator[PackageFile]:
        """All regular files, sorted by path, up to a limit. Blocks."""
        left = _MOST_FILES
        for entry in self.entries or (".",):
            for one in self._walk("" if entry == "." else entry):
                if left == 0:
                    return
                left -= 1
                yield one

    def read(self, path: str) -> str:
        """The text of a file. InvalidInput if it is not one of the package, or no text. Blocks."""
        inside = self.locate(path)
        try:
            data = real_path.read(self.root / inside, limit=LARGEST_FILE)
        except FileNotFoundError as error:
            raise PackageNotFound(
                f"The package has no file {path}.", suggestion="List its files with package_list."
            ) from error
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
        if b"\0" in data[:_TEXT_PROBE]:
            raise InvalidInput(f"{path} is a binary file of {len(data):,} bytes.")
        return data.decode(errors="replace")

    def locate(self, path: str) -> str:
        """A path of the package in its normal form. InvalidInput if it leads out of it."""
        parts = PurePosixPath(path.strip() or ".").parts
        if path.startswith(("/", "\\")) or ".." in parts or "\0" in path or is_private(parts):
            raise InvalidInput(
                f"{path} is not a path inside the package.",
                suggestion="Give a path as package_list and package_search show it.",
            )
        inside = "/".join(parts) or "."
        if self.nested & set(parts) or not self._owns(inside):
            raise PackageNotFound(
                f"{path} does not belong to this package.", suggestion="List its files with package_list."
            )
        return inside

    def has(self, inside: str) -> bool:
        """Whether there is a file or folder, and no link."""
        try:
            mode = real_path.lstat(self.root / inside).st_mode
        except OSError:
            return False
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)

    def _owns(self, inside: str) -> bool:
        return not self.entries or any(
            inside == one or inside.startswith(f"{one}/") or one.startswith(f"{inside}/") or inside == "."
            for one in self.entries
        )

    def _walk(self, entry: str) -> Iterator[PackageFile]:
        path = self.root / entry
        try:
            if entry and not os.path.isdir(path):  # noqa: PTH112 - one stat, for many files
                yield PackageFile(entry, real_path.lstat(path).st_size)
                return
            with open_folder(path) as folder, folder.scan() as entries:
                found = sorted(entries, key=lambda one: one.name)
                facts = [
                    (one.name, one.is_dir(follow_symlinks=False), one.stat(follow_symlinks=False).st_size)
                    for one in found
                    if one.is_dir(follow_symlinks=False) or one.is_file(follow_symlinks=False)
                ]
        except OSError:
            return
        for name, is_folder, size in facts:
            inner = f"{entry}/{name}" if entry else name
            if is_folder and name not in self.nested and name != "__pycache__":
                yield from self._walk(inner)
            elif not is_folder:
                yield PackageFile(inner, size)
