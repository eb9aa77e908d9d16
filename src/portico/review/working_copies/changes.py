"""Changes of an agent in its working copy against the base: those that can be proposed, and those that
cannot.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from portico.files import real_path
from portico.files.folders import FolderCache
from portico.review.files.omitted_file import OmittedFile
from portico.review.text.change_set import (
    LINK_MODE,
    ChangeOperation,
    ChangeSet,
    FileChange,
    FileContent,
    opened_no_further,
)
from portico.review.text.names import escape_bytes, is_text
from portico.review.working_copies.file_access import EntryIsFolder, TreeFile, UnusableEntry, current_stamp
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.record import NOT_HELD, BaseEntry, WorkingCopyRecord
from portico.review.working_copies.tree import CopyTree


class ScannedChanges(msgspec.Struct, frozen=True):
    """Changes since the base. `kept_back` are changes that cannot be proposed, with reasons."""

    changes: ChangeSet
    kept_back: tuple[OmittedFile, ...] = ()


class _Changed(msgspec.Struct, frozen=True):
    path: str
    old: BaseEntry | None
    new: TreeFile | None


class ChangeScanner:
    """Compares a working copy with its base. Stamps of unchanged files are renewed."""

    def __init__(self, record: WorkingCopyRecord, tree: CopyTree, bounds: WorkingCopyBounds) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._prefix = prefix_of(record)
        self._kept_back: list[OmittedFile] = []
        self.renewed = False

    def survey(self, listed: Iterable[str], carried: Path) -> ScannedChanges:
        """Compare all listed files and all files of the base."""
        new = frozenset(listed) - self._record.base.keys()
        if new and carried.exists():
            new -= frozenset(os.fsdecode(name) for name in carried.read_bytes().split(b"\0"))
        with FolderCache() as folders:
            looked_at = [self._look(path, folders) for path in sorted((*new, *self._record.base))]
        changed = [one for one in looked_at if one is not None]
        proposable = self._within_bounds(one for one in changed if self._fits(one))
        changes = _with_renames([self._change(one) for one in proposable])
        return ScannedChanges(ChangeSet(changes, emptied=self._emptied(changes)), tuple(self._kept_back))

    def _look(self, path: str, folders: FolderCache) -> _Changed | None:
        entry = self._record.base.get(path)
        known = self._record.own.get(path)
        stamp = current_stamp(f"{self._tree.top}/{path}", folders)
        if entry is not None and stamp is not None and stamp == known:
            return None
        try:
            found = self._tree.find(path, self._bounds.file_bytes, folders)
        except EntryIsFolder:
            found = None
        except UnusableEntry as error:
            self._kept_back.append(OmittedFile(self._shown(path), str(error)))
            return None
        if found is not None and entry is not None and not (found.entry.link or entry.link):
            mode = opened_no_further(entry.mode, found.entry.mode)
            found = found._replace(entry=msgspec.structs.replace(found.entry, mode=mode))
        if found is not None and found.entry.same(entry):
            if found.stamp is not None:
                self._record.own[path] = found.stamp
                self.renewed = True
            return None
        return None if found is None and entry is None else _Changed(path, entry, found)

    def _fits(self, one: _Changed) -> bool:
        """Whether a change can be proposed. The others are named."""
        reason = None
        if (one.old is not None and one.old.place == NOT_HELD) or (
            one.new is not None and one.new.data is None
        ):
            reason = f"is larger than {self._bounds.file_bytes >> 20} MB"
        elif not one.path.startswith(self._prefix):
            reason = "is outside of the workspace"
        elif not is_text(one.path):
            reason = "has a name that is not valid text"
        if reason is not None:
            self._kept_back.append(OmittedFile(self._shown(one.path), reason))
        return reason is None

    def _within_bounds(self, changed: Iterable[_Changed]) -> list[_Changed]:
        total = 0
        kept: list[_Changed] = []
        for one in sorted(changed, key=lambda each: each.new.entry.size if each.new else 0):
            total += one.new.entry.size if one.new else 0
            if total <= self._bounds.changed_bytes:
                kept.append(one)
            else:
                reason = f"is beyond {self._bounds.changed_bytes >> 20} MB of changes in all"
                self._kept_back.append(OmittedFile(self._shown(one.path), reason))
        return sorted(kept, key=lambda each: each.path)

    def _change(self, one: _Changed) -> FileChange:
        old = None
        if one.old is not None:
            old = FileContent(one.old.digest, one.old.size, self._record.contents.read(one.old))
        new = None
        if one.new is not None:
            new = FileContent(one.new.entry.digest, one.new.entry.size, one.new.data)
        return FileChange(
            path=one.path[len(self._prefix) :],
            operation=ChangeOperation.between(old, new),
            old=old,
            new=new,
            old_mode=None if one.old is None else mode_of(one.old),
            new_mode=None if one.new is None else mode_of(one.new.entry),
        )

    def _emptied(self, changes: Iterable[FileChange]) -> tuple[str, ...]:
        """Folders that are gone together with their files."""
        top = self._record.top / self._prefix
        gone: set[str] = set()
        for change in changes:
            left = change.path if change.operation is ChangeOperation.DELETE else change.old_path
            if left is not None:
                folders = (folder for folder in Path(left).parents if folder != Path())
                gone |= {one.as_posix() for one in folders if not _is_folder(top, one.as_posix())}
        return tuple(sorted(gone))

    def _shown(self, path: str) -> str:
        return shown(self._record, path)


def mode_of(entry: BaseEntry) -> int:
    return LINK_MODE if entry.link else entry.mode


def _is_folder(top: Path, path: str) -> bool:
    """Whether a folder is there, and not one that a link leads to."""
    facts = real_path.find(top / path)
    return facts is not None and stat.S_ISDIR(facts.st_mode)


def prefix_of(record: WorkingCopyRecord) -> str:
    """Path prefix of the workspace in its repository."""
    inner = record.workspace.relative_to(record.root).as_posix()
    return "" if inner == "." else f"{inner}/"


def shown(record: WorkingCopyRecord, path: str) -> str:
    """A path as seen from the workspace, in text that any reader can show."""
    prefix = prefix_of(record)
    inner = path[len(prefix) :] if path.startswith(prefix) else f"{'../' * prefix.count('/')}{path}"
    return escape_bytes(inner)


def _with_renames(changes: list[FileChange]) -> tuple[FileChange, ...]:
    """The changes, with a deletion and a creation of the same content combined into a rename."""
    gone: dict[str, list[FileChange]] = {}
    for one in changes:
        if one.operation is ChangeOperation.DELETE and one.old is not None and one.old.size and not one.links:
            gone.setdefault(one.old.digest, []).append(one)
    result: list[FileChange] = []
    sources: set[str] = set()
    for one in changes:
        came = one.operation is ChangeOperation.CREATE and not one.links
        candidates = gone.get(one.new.digest, []) if came and one.new is not None else []
        if not candidates:
            result.append(one)
            continue
        source = next((each for each in candidates if _name(each) == _name(one)), candidates[0])
        candidates.remove(source)
        sources.add(source.path)
        result.append(
            msgspec.structs.replace(
                one,
                operation=ChangeOperation.RENAME,
                old_path=source.path,
                old=source.old,
                old_mode=source.old_mode,
                new_mode=_carried_mode(source, one),
            )
        )
    return tuple(
        one for one in result if not (one.operation is ChangeOperation.DELETE and one.path in sources)
    )


def _carried_mode(source: FileChange, came: FileChange) -> int | None:
    if source.old_mode is None or came.new_mode is None:
        return came.new_mode
    return opened_no_further(source.old_mode, came.new_mode)


def _name(change: FileChange) -> str:
    return change.path.rpartition("/")[2]
