"""Files and folders that only their owner can access."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.files.locks import locked

FOLDER, FILE = 0o700, 0o600

_OTHERS = 0o077
# Folders in which modes mean something, or git has its own: others cannot enter them, which is enough.
_OF_THEIR_OWN = frozenset({"objects", "tree", "worktrees"})
_MOST_ENTRIES = 20_000
_NO_TRAP = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FRESH = os.O_WRONLY | os.O_TRUNC | _NO_TRAP
_CHUNK_BYTES = 1024 * 1024


def make_private_folder(folder: Path) -> None:
    """Create a folder and those above it that are missing, each for its owner only. OSError if it cannot be."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        one.mkdir(mode=FOLDER, exist_ok=True)


def open_private(path: Path, flags: int, *, follows: bool = True) -> int:
    """A descriptor of a file that is created for its owner only, if it is.

    Unless it `follows`, a link is an OSError, and so is a pipe without a reader.
    """
    return os.open(path, flags | os.O_CREAT | (0 if follows else _NO_TRAP), FILE)


def write_private(path: Path, data: bytes) -> None:
    """Have a file hold these bytes. It is created for its owner only, if it is. OSError if it is a link."""
    with open(open_private(path, _FRESH), "wb") as file:
        file.write(data)


def replace_private(path: Path, data: bytes) -> None:
    """Have a file hold these bytes, for its owner only: whole or not at all, also after a power cut."""
    beside = path.with_name(f"{path.name}.new")
    try:
        with open(open_private(beside, _FRESH), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def private_change(path: Path) -> Iterator[None]:
    """Keep other processes from changing a private file. StoreFailed if it cannot be changed."""
    try:
        make_private_folder(path.parent)
        with locked(path.with_suffix(".lock")):
            yield
    except OSError as error:
        raise StoreFailed(f"{path} cannot be changed: {error.strerror or error}") from error


def copy_private(source: Path, target: Path) -> None:
    """Copy a file with its times, for its owner only. OSError if a link is in the place of the copy."""
    import shutil  # Late: few who keep private files copy any.

    with source.open("rb") as old, open(open_private(target, _FRESH), "wb") as new:
        shutil.copyfileobj(old, new, _CHUNK_BYTES)
        facts = os.fstat(old.fileno())
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def remove_others_access(folder: Path) -> None:
    """Remove all access of others to one of Portico's folders, as far as the system allows. Links are not followed."""
    if os.name == "nt":
        return
    folders, seen = [folder], 0
    _take(folder)
    while folders and seen < _MOST_ENTRIES:
        for entry in _entries(folders.pop()):
            seen += 1
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder or entry.is_file(follow_symlinks=False):
                _take(path)
            if is_folder and entry.name not in _OF_THEIR_OWN:
                folders.append(path)


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # It has gone meanwhile, or is not ours.


def _take(path: Path) -> None:
    # A file that is removed meanwhile needs no change, and another user's file cannot be changed.
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
