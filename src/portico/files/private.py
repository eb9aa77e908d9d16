"""Files and folders for their owner only: made so, and made so again where they are not."""

import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER, FILE = 0o700, 0o600

_OTHERS = 0o077
# Folders in which modes mean something, or git has its own: others cannot enter them, which is enough.
_OF_THEIR_OWN = frozenset({"objects", "tree", "worktrees"})
_MOST_ENTRIES = 20_000


def make_private_folder(folder: Path) -> None:
    """Create a folder and those above it that are missing, each for its owner only. OSError if it cannot be."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        one.mkdir(mode=FOLDER, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file that is created for its owner only, if it is."""
    return os.open(path, flags | os.O_CREAT, FILE)


def take_from_others(folder: Path) -> None:
    """Take from others every right in a folder of ours, as far as the system allows. Links are not followed."""
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
    # What goes meanwhile needs no mending, and what belongs to somebody else cannot have it.
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
