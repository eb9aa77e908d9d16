"""Makes sure that the contents which git has taken into an index are those of files in the workspace.

Git opens files by their paths. If a folder is swapped for a link meanwhile, git takes a file from elsewhere. A swap
changes the folder above, and file systems date that: only below folders that have changed are contents compared.
"""

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from portico.files.folders import open_folder
from portico.review.disk.calls import Disk
from portico.review.git.program import Git
from portico.review.text.changes import LINK_MODE

_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000

Mark = tuple[int, int]


class TakenFiles:
    """Files of a workspace that git is about to take. Made before git runs, it says afterwards which are doubted."""

    def __init__(self, workspace: Path, paths: list[str]) -> None:
        self._workspace = workspace
        self._paths = paths
        self._marks = {folder: self._mark(folder) for folder in _folders_above(paths)}
        self._begun_ns = time.time_ns()

    def doubted(self) -> list[str]:
        """The files below folders in which something was moved, or may have been."""
        changed = {folder for folder, mark in self._marks.items() if not self._is_settled(folder, mark)}
        return [path for path in self._paths if changed and not changed.isdisjoint(_folders_above([path]))]

    def _is_settled(self, folder: str, mark: Mark | None) -> bool:
        if mark is None or mark != self._mark(folder):
            return False
        tick = _TICK_NS if mark[1] % _SECOND_NS else _COARSE_TICK_NS
        return mark[1] + tick < self._begun_ns  # A later change would have another date.

    def _mark(self, folder: str) -> Mark | None:
        try:
            with open_folder(self._workspace / folder) as opened:
                facts = opened.facts()
        except OSError:
            return None
        return facts.st_ino, facts.st_ctime_ns


async def correct(git: Git, workspace: Path, doubted: list[str]) -> None:
    """Have an index hold these files as they are in the workspace; those that are not there go."""
    names = (await git.run("ls-files", "--stage", "-z")).names
    entries = (name.partition("\t") for name in names)
    known = {path: tuple(facts.split(" ")[:2]) for facts, _, path in entries}
    records: list[bytes] = []
    for path in doubted:
        mode, blob = known.get(path, ("", ""))
        entry = await asyncio.to_thread(_read, workspace / path)
        if entry is None:
            records.append(f"0 {'0' * 40}\t".encode() + os.fsencode(path))
        elif (mode, blob) != (entry.mode, entry.blob(len(blob))):
            written = (await git.run("hash-object", "-w", "--stdin", given=entry.data)).text
            records.append(f"{entry.mode} {written}\t".encode() + os.fsencode(path))
    if records:
        given = b"".join(record + b"\0" for record in records)
        await git.run("update-index", "-z", "--index-info", given=given)


class _Entry(NamedTuple):
    """A file as git keeps it."""

    mode: str
    data: bytes

    def blob(self, length: int) -> str:
        """The name of its content, in the form that the repository uses."""
        digest = hashlib.sha256 if length == 64 else hashlib.sha1
        return digest(b"blob %d\0" % len(self.data) + self.data).hexdigest()


def _read(place: Path) -> _Entry | None:
    try:
        found = Disk().read_entry(place)
    except OSError:
        return None
    if found.mode == LINK_MODE:
        return _Entry("120000", found.data)
    return _Entry("100755" if found.mode & stat.S_IXUSR else "100644", found.data)


def _folders_above(paths: Iterable[str]) -> set[str]:
    """The folders that these files are in, and those above, the workspace itself as an empty name."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
