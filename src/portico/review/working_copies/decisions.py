"""Update of a working copy after the person applied or discarded parts of its changes."""

from collections.abc import Mapping
from typing import NamedTuple

from portico.files.folders import FolderCache
from portico.review.text.change_set import (
    LINK_MODE,
    ChangeOperation,
    ChangeSet,
    FileContent,
    digest_of,
    opened_no_further,
)
from portico.review.text.merge import merge
from portico.review.working_copies.changes import mode_of, prefix_of
from portico.review.working_copies.file_access import (
    LINK_PERMISSIONS,
    EntryIsFolder,
    TreeFile,
    UnusableEntry,
    find,
)
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.record import BaseEntry, CopyStep, WorkingCopyRecord, step
from portico.review.working_copies.steps import perform_steps
from portico.review.working_copies.tree import CopyTree


class FileVersion(NamedTuple):
    """A file: what it holds, and its permission bits; or where a link leads, and LINK_MODE."""

    data: bytes
    mode: int


class FilePart(NamedTuple):
    """Change at one path. A content of None means no file; a mode of None means unchanged."""

    old: bytes | None = None
    new: bytes | None = None
    old_mode: int | None = None
    new_mode: int | None = None


class FollowedFile(NamedTuple):
    """New content and new base of a file in the working copy."""

    own: FileVersion | None
    base: FileVersion | None


class UnclearPart(Exception):
    """A discarded part cannot be separated from the rest."""


def parts(changes: ChangeSet) -> dict[str, FilePart]:
    """Changes by path. A rename is a removed file and a new one."""
    found: dict[str, FilePart] = {}
    for one in changes.changes:
        source = one.old_path if one.operation is ChangeOperation.RENAME else one.path
        if one.old is not None and source is not None:
            before = found.get(source, FilePart())
            found[source] = before._replace(old=_bytes(one.old), old_mode=one.old_mode)
        if one.new is not None:
            before = found.get(one.path, FilePart())
            found[one.path] = before._replace(new=_bytes(one.new), new_mode=one.new_mode)
    return found


def without(own: FileVersion | None, given_up: FilePart) -> FileVersion | None:
    """The agent's version without the discarded part."""
    if own is None:
        back = given_up.old if given_up.new is None else None
        return None if back is None else FileVersion(back, given_up.old_mode or 0o644)
    if given_up.new is None:
        return own
    mode = own.mode
    if given_up.old_mode is not None and _was_proposed_with(given_up.new_mode, own):
        mode = given_up.old_mode
    if own.data == given_up.new:
        return None if given_up.old is None else FileVersion(given_up.old, mode)
    if LINK_MODE in (own.mode, given_up.old_mode, given_up.new_mode):
        raise UnclearPart
    merged = merge(given_up.new, given_up.old or b"", own.data).merged
    if merged is None:
        raise UnclearPart
    return None if given_up.old is None and not merged else FileVersion(merged, mode)


def after_apply(
    own: FileVersion | None, applied: FilePart, person: FileVersion | None, base_mode: int | None
) -> FollowedFile:
    """State after a part is in the person's file: that is the new base, and the rest of the agent's work
    stays.
    """
    if own is None or applied.new is None:
        if own is None and applied.new is None:
            return FollowedFile(person, person)
        if own is None:
            return FollowedFile(None, person)
        return FollowedFile(own, None)
    if person is None:
        if own.data == applied.new:
            return FollowedFile(None, None)
        return FollowedFile(own, FileVersion(applied.new, applied.new_mode or own.mode))
    meant = base_mode if applied.new_mode is None else applied.new_mode
    mode = person.mode if _was_proposed_with(meant, own) else own.mode
    if own.data == applied.new:
        return FollowedFile(FileVersion(person.data, mode), person)
    if LINK_MODE in (own.mode, person.mode, applied.new_mode):
        return FollowedFile(own, person)
    merged = merge(applied.new, person.data, own.data).merged
    if merged is None:
        return FollowedFile(own, FileVersion(applied.new, person.mode))
    return FollowedFile(FileVersion(merged, mode), person)


def _was_proposed_with(mode: int | None, own: FileVersion) -> bool:
    """Whether the agent's file has a mode, but for rights that no proposal gives."""
    return mode is not None and mode in (own.mode, opened_no_further(mode, own.mode))


def _bytes(content: FileContent) -> bytes:
    return content.loaded()


class DecisionFollower:
    """Brings decisions into one working copy. `typed` is unsaved text of files in the workspace."""

    def __init__(
        self, record: WorkingCopyRecord, tree: CopyTree, bounds: WorkingCopyBounds, typed: Mapping[str, bytes]
    ) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._typed = {prefix_of(record) + path: data for path, data in typed.items()}

    def follow(self, applied: ChangeSet, discarded: ChangeSet) -> tuple[str, ...]:
        """Bring decisions into the working copy; paths in which a discarded part could not be separated from
        the rest.
        """
        prefix = prefix_of(self._record)
        taken, given_up = parts(applied), parts(discarded)
        steps: list[CopyStep] = []
        unclear: list[str] = []
        with FolderCache() as folders:
            for path in sorted(taken.keys() | given_up.keys()):
                try:
                    steps.append(self._planned(prefix + path, taken.get(path), given_up.get(path), folders))
                except (UnclearPart, UnusableEntry):
                    unclear.append(path)
        refused = perform_steps(self._record, self._tree, steps)
        self._record.tidy()
        return tuple(sorted({*unclear, *(path[len(prefix) :] for path in refused)}))

    def _planned(
        self, path: str, applied: FilePart | None, given_up: FilePart | None, folders: FolderCache
    ) -> CopyStep:
        found = self._tree.find_file(path, self._bounds.file_bytes, folders)
        own = _version(found)
        base = self._record.base.get(path)
        after = own
        try:
            if given_up is not None:
                after = without(own, given_up)
        except UnclearPart:
            if applied is None:
                raise
        seen = None if found is None else found.entry
        if applied is None:
            return step(path, seen, self._entry(after), base)
        base_mode = None if base is None else mode_of(base)
        followed = after_apply(after, applied, self._persons(path, folders), base_mode)
        self._record.persons.pop(path, None)
        own_entry = self._entry(followed.own)
        base_entry = own_entry if followed.base == followed.own else self._entry(followed.base)
        return step(path, seen, own_entry, base_entry)

    def _persons(self, path: str, folders: FolderCache) -> FileVersion | None:
        try:
            saved = _version(find(f"{self._record.root}/{path}", self._bounds.file_bytes, folders))
        except EntryIsFolder:
            return None
        typed = self._typed.get(path)
        if saved is None or typed is None or saved.mode == LINK_MODE:
            return saved
        return FileVersion(typed, saved.mode)

    def _entry(self, version: FileVersion | None) -> BaseEntry | None:
        if version is None:
            return None
        place = self._record.contents.add(version.data)
        link = version.mode == LINK_MODE
        mode = LINK_PERMISSIONS if link else version.mode
        return BaseEntry(digest_of(version.data), len(version.data), mode, link, place)


def _version(found: TreeFile | None) -> FileVersion | None:
    if found is None:
        return None
    if found.data is None:
        raise UnusableEntry("is too large to be compared")
    return FileVersion(found.data, mode_of(found.entry))
