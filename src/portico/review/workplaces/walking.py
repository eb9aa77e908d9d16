"""Which files of a tree are work where no git is installed: all but those in folders that tools fill."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from portico.files.folders import open_folder
from portico.review.disk.threads import ended
from portico.review.git.listing import Listing, inside, may_hold_secrets

_FILLED_BY_TOOLS = {"node_modules", "__pycache__", ".venv", "venv", ".tox"}
_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")
_OF_GIT = ".git"


class WalkedTrees:
    """Walks through trees. Implements `Trees`."""

    async def of_person(self, root: Path, without: Path) -> Listing:
        found = await ended(lambda stop: [path for path, work in _walk(root, without, stop) if work])
        private = frozenset(path for path in found if may_hold_secrets(path))
        return Listing(frozenset(found) - private, private)

    async def of_workplace(self, top: Path) -> frozenset[str]:
        found = await ended(lambda stop: [path for path, work in _walk(top, top, stop) if work])
        return frozenset(found)

    async def ignored(self, root: Path, without: Path) -> tuple[str, ...]:
        found = await ended(lambda stop: [path for path, work in _walk(root, without, stop) if not work])
        return tuple(sorted(found))


def _walk(root: Path, without: Path, stop: threading.Event) -> Iterator[tuple[str, bool]]:
    """Files that are work, and folders that are not and are not entered."""
    ours = inside(without, root)
    waiting = [""]
    while waiting and not stop.is_set():
        prefix = waiting.pop()
        try:
            with open_folder(root / prefix) as folder, folder.scan() as scanned:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scanned]
        except OSError:
            continue
        for name, is_folder in entries:
            path = prefix + name
            if name == _OF_GIT or path == ours:
                continue
            if not is_folder:
                yield path, True
            elif name in _FILLED_BY_TOOLS or any(os.path.lexists(f"{root}/{path}/{mark}") for mark in _MARKS):
                yield path, False
            else:
                waiting.append(f"{path}/")
