"""Initial content of a working copy: the person's files, byte for byte, kept as the base."""

import os
import stat
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy
from portico.files.folders import FolderCache, make_folders
from portico.files.private import make_private_folder
from portico.review.files.omitted_file import OmittedFile
from portico.review.working_copies.file_access import UnusableEntry, find, settled_stamp
from portico.review.working_copies.record import Stamp, WorkingCopyRecord
from portico.review.working_copies.tree import CopyTree, leads_out


class WorkingCopyBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a working copy. Files larger than `file_bytes` are copied, but not reviewed."""

    file_bytes: int = 50 * 1024 * 1024
    files: int = 200_000
    total_bytes: int = 4 * 1024 * 1024 * 1024
    changed_bytes: int = 512 * 1024 * 1024
    carried_bytes: int = 256 * 1024 * 1024
    carried_files: int = 30_000
    cloned_files: int = 200_000
    carried_seconds: float = 5.0
    listing_seconds: float = 15.0


def measure(root: Path, paths: Iterable[str], bounds: WorkingCopyBounds) -> list[str]:
    """The paths in order, unless they are more than a working copy holds."""
    total = count = 0
    for path in paths:
        count += 1
        try:
            facts = os.lstat(f"{root}/{path}")
        except OSError:
            continue
        total += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
        if count > bounds.files or total > bounds.total_bytes:
            raise too_large(
                root,
                f"it has more than {bounds.files} files or {bounds.total_bytes >> 20} MB that are not ignored",
            )
    return sorted(paths)


def too_large(folder: Path, reason: str) -> InvalidInput:
    """The error for a folder that is too large to copy, and what to do."""
    return InvalidInput(
        f"{folder} is too large for a copy that an agent can work in: {reason}.",
        suggestion="Open a smaller folder, have git ignore what is generated, or use the direct mode.",
    )


class TreeFiller:
    """Fills one working copy. It stops early when `stop` is set."""

    def __init__(
        self, record: WorkingCopyRecord, tree: CopyTree, bounds: WorkingCopyBounds, stop: threading.Event
    ) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._stop = stop
        self._made: set[str] = set()
        self._left_out: list[OmittedFile] = []
        self._stamps: dict[str, Stamp] = {}

    def fill(self, paths: Iterable[str]) -> list[OmittedFile]:
        """Copy these files of the person's tree. What could not be copied is returned, each with its reason."""
        make_private_folder(self._record.top.parent)
        self._record.top.mkdir(exist_ok=True)
        with FolderCache() as folders:
            for path in measure(self._record.root, frozenset(paths), self._bounds):
                if self._stop.is_set():
                    raise SessionBusy("Copying the workspace for the agent was cancelled.")
                try:
                    self._copy(path, folders)
                except UnusableEntry as error:
                    self._left_out.append(OmittedFile(path, str(error)))
                except FileExistsError:
                    self._left_out.append(
                        OmittedFile(path, "has a name that means another file where the copy is kept")
                    )
        for path, stamp in self._stamps.items():
            if settled_stamp(stamp) is not None:
                self._record.own[path] = stamp
        return self._left_out

    def adopt(self, paths: Iterable[str]) -> list[OmittedFile]:
        """Take what is in the working copy already as its base."""
        with FolderCache() as folders:
            for path in measure(self._record.top, frozenset(paths), self._bounds):
                try:
                    found = self._tree.find(path, self._bounds.file_bytes, folders)
                except UnusableEntry as error:
                    self._left_out.append(OmittedFile(path, str(error)))
                    continue
                if found is not None:
                    place = {} if found.data is None else {"place": self._record.contents.add(found.data)}
                    self._record.base[path] = msgspec.structs.replace(found.entry, **place)
        return self._left_out

    def _copy(self, path: str, folders: FolderCache) -> None:
        source = f"{self._record.root}/{path}"
        found = find(source, self._bounds.file_bytes, folders)
        if found is None:
            return
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            make_folders(self._record.top / folder).close()
            self._made.add(folder)
        if found.data is None:
            self._stamps[path] = self._tree.add_from(path, Path(source), found) or (0, 0, 0, 0)
            self._left_out.append(
                OmittedFile(
                    path, f"is there, but larger than {_megabytes(self._bounds.file_bytes)}: not reviewed"
                )
            )
            self._record.base[path] = found.entry
        else:
            self._stamps[path] = self._tree.add(path, found, folders)
            place = self._record.contents.add(found.data)
            self._record.base[path] = msgspec.structs.replace(found.entry, place=place)
            if found.entry.link and leads_out(path, found.data):
                self._left_out.append(
                    OmittedFile(path, "is a link out of the folder, and leads nowhere from here")
                )
            elif found.entry.link and self._leads_elsewhere(found.data):
                self._left_out.append(
                    OmittedFile(
                        path, "is a link out of the folder: what is written through it is not reviewed"
                    )
                )
        if found.stamp is not None:
            self._record.persons[path] = found.stamp

    def _leads_elsewhere(self, target: bytes) -> bool:
        """Whether a link names a place outside of the person's tree by its full path."""
        root = os.fsencode(self._record.root)
        return target.startswith(b"/") and not (os.path.normpath(target) + b"/").startswith(root + b"/")


def _megabytes(size: int) -> str:
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size} bytes"
