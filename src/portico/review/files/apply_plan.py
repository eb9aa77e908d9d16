"""Plan of an apply: what to write, what to merge, what conflicts, what to refuse. Writes nothing.

A file that has changed since is merged if the changes do not overlap, and is a conflict otherwise.
"""

import errno
import os
import secrets
import stat
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError, StoreFailed
from portico.files import real_path
from portico.files.folders import FolderCache
from portico.review.files.disk import Disk, DiskFile, digest_as
from portico.review.files.intent_log import ApplyIntent, IntentFolder, IntentStep
from portico.review.files.path_rules import PathRules
from portico.review.text.change_set import (
    LINK_MODE,
    ChangeOperation,
    ChangeSet,
    Conflict,
    FileChange,
    FileContent,
    MadeFolder,
    digest_of,
)
from portico.review.text.merge import merge


class NotWritable(PermissionDenied):
    """A file cannot be written now; once that is fixed, the change can be applied."""


class ApplyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Maximum size of a change set."""

    file_bytes: int = 64 * 1024 * 1024
    total_bytes: int = 512 * 1024 * 1024
    files: int = 20_000


class PlannedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A file to write or remove, and the file found there; attributes are copied from `like`."""

    step: IntentStep
    found: DiskFile | None
    data: bytes | None
    mode: int | None
    like: Path | None


class ApplyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Steps of an apply. `effective` are the changes against the current files, merges included."""

    intent: ApplyIntent
    writes: tuple[PlannedWrite, ...]
    effective: tuple[FileChange, ...]
    merged: tuple[str, ...]
    conflicted: tuple[FileChange, ...]


class ApplyPlanner:
    """Plans one change set for one folder."""

    def __init__(self, root: Path, disk: Disk, limits: ApplyLimits) -> None:
        self._disk = disk
        self._limits = limits
        self._places = PathRules(root, folds_names=disk.folds_names(root))
        self._folders = FolderCache()
        self._token = secrets.token_hex(6)
        self._leaving: set[Path] = set()
        self._writable: set[Path] = set()
        self._besides: dict[Path, Path] = {}
        self._writes: list[PlannedWrite] = []
        self._effective: list[FileChange] = []
        self._merged: list[str] = []
        self._conflicted: list[FileChange] = []

    def plan(self, changes: ChangeSet) -> ApplyPlan:
        self._check_size(changes)
        emptied = self._emptied(changes.emptied)
        self._leaving = {Path(folder.path) for folder in emptied}
        sources, targets = self._find_places(changes.changes)
        with self._folders:
            for change in changes.changes:
                try:
                    self._take(change, sources.get(change.path), targets.get(change.path))
                except OSError as error:
                    raise unapplied(change.path, error) from error
        return ApplyPlan(
            intent=ApplyIntent(
                root=str(self._places.root),
                steps=tuple(write.step for write in self._writes),
                made=self._made(changes.made),
                emptied=emptied,
            ),
            writes=tuple(self._writes),
            effective=tuple(self._effective),
            merged=tuple(self._merged),
            conflicted=tuple(self._conflicted),
        )

    def _check_size(self, changes: ChangeSet) -> None:
        if len(changes.changes) > self._limits.files:
            raise InvalidInput(
                f"The change touches more than {self._limits.files} files; nothing was changed.",
                suggestion="Apply some of the files at a time.",
            )
        sizes = [(0 if one.new is None else one.new.size, one.path) for one in changes.changes]
        largest, path = max(sizes, default=(0, ""))
        if largest > self._limits.file_bytes or sum(size for size, _ in sizes) > self._limits.total_bytes:
            what = path if largest > self._limits.file_bytes else "The change as a whole"
            raise InvalidInput(
                f"{what} is too large to be applied; nothing was changed.",
                suggestion="Leave large files out of the change and copy them by hand.",
            )

    def _emptied(self, paths: tuple[str, ...]) -> tuple[IntentFolder, ...]:
        root = self._places.root
        folders = {self._places.folder(path) for path in paths if not (root / path).is_symlink()} - {root}
        deepest_first = sorted(folders, key=lambda folder: len(folder.parts), reverse=True)
        return tuple(
            IntentFolder(str(folder), stat.S_IMODE(folder.lstat().st_mode))
            for folder in deepest_first
            if folder.is_dir()
        )

    def _find_places(self, changes: tuple[FileChange, ...]) -> tuple[dict[str, Path], dict[str, Path]]:
        """Real paths of files that are removed and that are written, by the path of the change. No file may
        occur twice.
        """
        sources: dict[str, Path] = {}
        targets: dict[str, Path] = {}
        for change in changes:
            leaves = change.path if change.operation is ChangeOperation.DELETE else change.old_path
            if leaves is not None and change.links:
                sources[change.path] = self._places.entry(leaves)
            elif leaves is not None:
                sources[change.path] = self._places.file(leaves, leaving=None)
        self._leaving |= set(sources.values())
        self._places.let_go(sources[one.path] for one in changes if one.links and one.path in sources)
        for change in changes:
            if change.operation is not ChangeOperation.DELETE:
                find = self._places.entry if change.links else self._places.file
                targets[change.path] = find(change.path, leaving=self._leaving)
        updated = [targets[one.path] for one in changes if one.operation is ChangeOperation.UPDATE]
        for places in (list(targets.values()), [*sources.values(), *updated]):
            if len({self._places.folded(place) for place in places}) < len(places):
                raise InvalidInput("Two changes of the set are to one file here; nothing was changed.")
        if len(sources) + len(targets) != len(changes) + sum(one.old_path is not None for one in changes):
            raise InvalidInput("Two changes of the set have one path; nothing was changed.")
        return sources, targets

    def _take(self, change: FileChange, source: Path | None, target: Path | None) -> None:
        found = self._look(change.old_path or change.path, source or target)
        if found is None and (target is None or self._is_renamed(change, source, target)):
            return
        conflicts, data = _outcome(change, found)
        if source is not None and target is not None:
            there = None if target in self._leaving else self._look(change.path, target)
            conflicts = conflicts if there is None else (Conflict(None, there.data, data),)
        if conflicts:
            self._conflicted.append(msgspec.structs.replace(change, conflicts=conflicts))
            return
        mode = _mode(change, found)
        if source is None and found is not None and (data, mode) == (found.data, found.mode):
            return
        if change.old is not None and found is not None and data is not None and data != change.new_data:
            self._merged.append(change.path)
        if source is not None:
            self._add(source, found, None, None)
        if target is not None:
            self._check_room(change.path, target)
            like = None if found is None or change.links else source or target
            self._add(target, None if source is not None else found, data, mode, like)
        self._effective.append(
            msgspec.structs.replace(
                change,
                old=None if found is None else FileContent.of(found.data),
                new=None if data is None else FileContent.of(data),
                old_mode=None if found is None else found.mode,
                new_mode=mode,
            )
        )

    def _is_renamed(self, change: FileChange, source: Path | None, target: Path) -> bool:
        """Whether a rename has already happened: the file has its new name and content."""
        if source is None or target in self._leaving:
            return False
        there = self._look(change.path, target)
        return there is not None and _is_new(change, there)

    def _look(self, path: str, place: Path | None) -> DiskFile | None:
        """The file at a place, unless it is about to be removed."""
        if (
            place is None
            or self._places.is_behind_going(place)
            or (facts := real_path.find(place, self._folders)) is None
        ):
            return None
        if stat.S_ISDIR(facts.st_mode):
            if place in self._leaving:
                return None
            raise InvalidInput(
                f"{path} is a folder, not a file; nothing was changed.",
                suggestion="Leave this file out, or move the folder away.",
            )
        if facts.st_size > self._limits.file_bytes:
            raise InvalidInput(
                f"{path} is too large to be changed here; nothing was changed.",
                suggestion="Leave this file out, and change it by hand.",
            )
        return self._disk.read_entry(place, self._folders)

    def _check_room(self, path: str, target: Path) -> None:
        """Check that every parent of a file is a writable folder, or can be created."""
        if target.parent in self._writable:
            return
        for parent in target.parents:
            if parent in self._leaving or not os.path.lexists(parent):
                continue
            if not parent.is_dir():
                raise InvalidInput(
                    f"{path} cannot be written: {parent.name} is a file, not a folder.",
                    suggestion="Leave this file out, or move away what is there.",
                )
            if not os.access(parent, os.W_OK | os.X_OK):
                raise NotWritable(
                    f"{path} cannot be written: the folder {parent} is read-only.",
                    suggestion="Make the folder writable, then apply again.",
                )
            self._writable.add(target.parent)
            return

    def _add(
        self,
        target: Path,
        found: DiskFile | None,
        data: bytes | None,
        mode: int | None,
        like: Path | None = None,
    ) -> None:
        beside = self._besides.get(target.parent)
        if beside is None:
            beside = next(one for one in target.parents if one.is_dir() and one not in self._leaving)
            self._besides[target.parent] = beside
        name = f".portico-{self._token}-{len(self._writes)}"
        step = IntentStep(
            target=str(target),
            staged=None if data is None else str(beside / f"{name}.new"),
            kept=None if found is None else str(beside / f"{name}.old"),
            new_digest=None if data is None else digest_as(data, mode),
        )
        self._writes.append(PlannedWrite(step=step, found=found, data=data, mode=mode, like=like))

    def _made(self, asked: tuple[MadeFolder, ...]) -> tuple[IntentFolder, ...]:
        """All folders that are to be made, outer ones first."""
        modes = {self._places.folder(one.path): one.mode for one in asked}
        wanted = set(modes) | {
            Path(folder)
            for folder in {os.path.dirname(one.step.target) for one in self._writes if one.data is not None}  # noqa: PTH120 - of many
        }
        needed = wanted.union(*(folder.parents for folder in wanted))
        missing = [one for one in needed if one in self._leaving or not os.path.lexists(one)]
        outer_first = sorted(missing, key=lambda one: (len(one.parts), one))
        return tuple(IntentFolder(str(folder), modes.get(folder)) for folder in outer_first)


def _outcome(change: FileChange, found: DiskFile | None) -> tuple[tuple[Conflict, ...], bytes | None]:
    """New content of the file, or the conflicts."""
    new = change.new_data
    if found is None:
        missing = () if change.old is None else (Conflict(change.old.data, None, new),)
        return missing, new
    if change.old is None:
        return () if _is_new(change, found) else (Conflict(None, found.data, new),), new
    linked = found.mode == LINK_MODE
    if digest_of(found.data) == change.old.digest and linked == (change.old_mode == LINK_MODE):
        return (), new
    if linked or change.links or new is None or change.old.data is None:
        return () if _is_new(change, found) else (Conflict(change.old.data, found.data, new),), new
    merged = merge(change.old.data, found.data, new)
    return merged.conflicts, merged.merged


def _is_new(change: FileChange, found: DiskFile) -> bool:
    """Whether a file or link is what the change makes of it already."""
    linked = found.mode == LINK_MODE
    return found.data == change.new_data and linked == (change.new_mode == LINK_MODE)


def _mode(change: FileChange, found: DiskFile | None) -> int | None:
    """The mode the file shall have. A change that did not mean to change it leaves it."""
    if change.new is None:
        return None
    if found is None or change.links:
        return change.new_mode
    meant = change.new_mode is not None and change.new_mode != change.old_mode
    return change.new_mode if meant else found.mode


def unapplied(path: str, error: OSError) -> PorticoError:
    """Error for a change that could not be applied; no file has changed."""
    reason = f"{path} cannot be written ({error.strerror or error}); everything is as it was."
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return StoreFailed(reason, suggestion="Free some space, then apply again.")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return NotWritable(reason, suggestion="Make the folder writable, then apply again.")
    if error.errno == errno.ELOOP:
        return InvalidInput(
            f"{path} cannot be written: a folder in its path has become a link; everything is as it was.",
            suggestion="Stop the program that replaces folders by links, then apply again.",
        )
    return InvalidInput(reason)
