"""Update of an index with files of a folder, safe against folders that are replaced by links during the
update.

Git opens files by path, so it would follow such a link. Replacing a folder changes the timestamp of its
parent: only below folders whose timestamp has changed are contents compared.
"""

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from portico.files.folders import open_folder
from portico.git.program import Git, path_input
from portico.review.files.disk import Disk, DiskFile
from portico.review.text.change_set import LINK_MODE

_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_REPOSITORY = "160000"
_NOTHING = ("", "", "")

FolderMark = tuple[int, int]


async def add_to_index(git: Git, root: Path, paths: list[str]) -> None:
    """Update the index with the current content of these files, and remove missing ones."""
    marks = await asyncio.to_thread(_Marks, root, paths)
    words = ("update-index", "-z", "--add", "--replace", "--remove", "--stdin")
    await git.run(*words, given=path_input(paths))
    if doubted := await asyncio.to_thread(marks.doubted):
        await _correct(git, marks.root, doubted)


class _Marks:
    """The state of the folders of some files, taken before git reads the files."""

    def __init__(self, root: Path, paths: list[str]) -> None:
        self.root = Path(os.path.realpath(root))
        self._paths = paths
        self._marks = {folder: self._mark(folder) for folder in _folders_above(paths)}
        self._begun_ns = time.time_ns()

    def doubted(self) -> list[str]:
        """Files below folders that have, or may have, changed during the update."""
        changed = {folder for folder, mark in self._marks.items() if not self._is_settled(folder, mark)}
        return [path for path in self._paths if changed and not changed.isdisjoint(_folders_above([path]))]

    def _is_settled(self, folder: str, mark: FolderMark | None) -> bool:
        if mark is None or mark != self._mark(folder):
            return False
        tick = _TICK_NS if mark[1] % _SECOND_NS else _COARSE_TICK_NS
        return mark[1] + tick < self._begun_ns  # A later change would have another date.

    def _mark(self, folder: str) -> FolderMark | None:
        try:
            with open_folder(self.root / folder) as opened:
                facts = opened.facts()
        except OSError:
            return None
        return facts.st_ino, facts.st_ctime_ns


async def _correct(git: Git, root: Path, doubted: list[str]) -> None:
    names = (await git.run("ls-files", "--stage", "-z")).names
    entries = (name.partition("\t") for name in names)
    known = {path: tuple(facts.split(" ")) for facts, _, path in entries}
    records: list[bytes] = []
    for path, found in await asyncio.to_thread(lambda: list(_differing(root, doubted, known))):
        mode, blob, _ = known.get(path, _NOTHING)
        if found is None:
            records.append(f"0 {'0' * (len(blob) or 40)}\t".encode() + os.fsencode(path))
            continue
        written = await _written(git, path, found)
        if written != blob:  # Not the same file with other line ends either.
            kept = mode if mode.startswith("100") and found.mode != LINK_MODE else _mode_of(found)
            records.append(f"{kept} {written}\t".encode() + os.fsencode(path))
    if records:
        given = b"".join(record + b"\0" for record in records)
        await git.run("update-index", "-z", "--index-info", given=given)


def _differing(
    root: Path, paths: list[str], known: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, DiskFile | None]]:
    """The files that are not what the index has, and what is there instead."""
    for path in paths:
        mode, blob, _ = known.get(path, _NOTHING)
        found = _read(root / path)
        if mode != _REPOSITORY and (found is None or _blob_of(found.data, len(blob)) != blob):
            yield path, found


async def _written(git: Git, path: str, found: DiskFile) -> str:
    """The blob of a content, which git keeps from now on."""
    as_what = ("--no-filters",) if found.mode == LINK_MODE else ("--path", path)
    return (await git.run("hash-object", "-w", "--stdin", *as_what, given=found.data)).text


def _blob_of(data: bytes, length: int) -> str:
    """The name of a content as it is, in the form that the repository uses."""
    digest = hashlib.sha256 if length == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data).hexdigest()


def _mode_of(found: DiskFile) -> str:
    if found.mode == LINK_MODE:
        return "120000"
    return "100755" if found.mode & stat.S_IXUSR else "100644"


def _read(place: Path) -> DiskFile | None:
    try:
        return Disk().read_entry(place)
    except OSError:
        return None


def _folders_above(paths: Iterable[str]) -> set[str]:
    """The folders that these files are in, and those above, the outermost one as an empty name."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
