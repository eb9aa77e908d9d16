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
    while folders and seen < _MOST_ENTRIES:
        place = folders.pop()
        with suppress(OSError):
            _take(place, place.lstat())
            with os.scandir(place) as entries:
                for entry in entries:
                    seen += 1
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode) and entry.name not in _OF_THEIR_OWN:
                        folders.append(Path(entry.path))
                    elif stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
                        _take(Path(entry.path), status)


def _take(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & _OTHERS:
        path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
