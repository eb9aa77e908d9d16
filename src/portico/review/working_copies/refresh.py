"""Refresh of a working copy: changes of the person, saved or not, in files that the agent left alone."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from portico.files.folders import FolderCache
from portico.review.text.change_set import digest_of
from portico.review.working_copies.changes import prefix_of, shown
from portico.review.working_copies.file_access import (
    EntryIsFolder,
    TreeFile,
    UnusableEntry,
    current_stamp,
    find,
)
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.record import BaseEntry, CopyStep, Stamp, WorkingCopyRecord, step
from portico.review.working_copies.steps import perform_steps
from portico.review.working_copies.tree import CopyTree


def adopt(record: WorkingCopyRecord, tree: CopyTree, path: str, data: bytes) -> bool:
    """Write these bytes to the working copy and its base; False if they were not taken over."""
    place = prefix_of(record) + path
    base = record.base.get(place)
    if base is None or base.link or base.digest == digest_of(data):
        return False
    kept = record.contents.add(data)
    wanted = msgspec.structs.replace(base, digest=digest_of(data), size=len(data), place=kept)
    if perform_steps(record, tree, [step(place, base, wanted, wanted)]):
        return False
    if (stamp := current_stamp(f"{record.root}/{place}")) is not None:
        record.persons[place] = stamp  # Until the person saves, the disk has nothing newer.
        record.save()
    return True


class RefreshResult(msgspec.Struct, frozen=True):
    """Paths seen from the workspace: those `taken` over, and those `left` since the agent changed them too."""

    taken: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class CopyRefresher:
    """Brings one working copy up to date with the person's tree.

    What they have `typed` into files of the workspace and not saved counts in place of what the disk has.
    """

    def __init__(
        self, record: WorkingCopyRecord, tree: CopyTree, bounds: WorkingCopyBounds, typed: Mapping[str, bytes]
    ) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._typed = {prefix_of(record) + path: data for path, data in typed.items()}
        self._stamps: dict[str, Stamp] = {}
        self._unstamped = False

    def refresh(self, listed: Iterable[str]) -> RefreshResult:
        steps: list[CopyStep] = []
        left: list[str] = []
        gone: list[str] = []
        with FolderCache() as folders:
            for path, found in self._changed(frozenset(listed), folders):
                one = self._planned(path, found)
                if found is None:
                    gone.append(path)
                if one is None:
                    left.append(path)
                else:
                    steps.append(one)
        if self._record.base and len(gone) == len(self._record.base) == len(steps) + len(left):
            # A disk that is not mounted looks like this.
            return RefreshResult(left=tuple(shown(self._record, path) for path in gone))
        left += perform_steps(self._record, self._tree, steps)
        self._renew_stamps(left)
        self._record.tidy()
        taken = sorted({each.path for each in steps}.difference(left))
        return RefreshResult(
            tuple(shown(self._record, path) for path in taken),
            tuple(shown(self._record, path) for path in sorted(left)),
        )

    def _renew_stamps(self, left: list[str]) -> None:
        """Remember what need not be read again: files that are what the base has by now."""
        for path in left:
            self._stamps.pop(path, None)
        if self._stamps or self._unstamped:
            self._record.persons |= self._stamps
            self._record.save()

    def _changed(
        self, present: frozenset[str], folders: FolderCache
    ) -> Iterator[tuple[str, TreeFile | None]]:
        """The person's files that differ from the base."""
        root = self._record.root
        for path in sorted(present | self._record.base.keys()):
            entry = self._record.base.get(path)
            stamp = current_stamp(f"{root}/{path}", folders)
            typed = self._typed.get(path)
            known = self._record.persons.get(path)
            if typed is not None:
                # The disk counts again once that is saved or discarded.
                self._unstamped = self._record.persons.pop(path, None) is not None or self._unstamped
            if entry is None or typed is not None:
                known = None
            if known is not None and known == stamp:
                continue
            try:
                found = find(f"{root}/{path}", self._bounds.file_bytes, folders)
            except EntryIsFolder:
                found = None
            except UnusableEntry:
                continue
            if found is not None and typed is not None and not found.entry.link:
                found = _with(found, typed)
            if found is not None and found.stamp is not None:
                self._stamps[path] = found.stamp
            same = entry is None if found is None else found.entry.same(entry)
            if not same:
                yield path, found

    def _planned(self, path: str, found: TreeFile | None) -> CopyStep | None:
        """The step by which the base moves along; None if the agent has changed the file in its own way."""
        base = self._record.base.get(path)
        try:
            own = self._tree.find_file(path, limit=-1)
        except UnusableEntry:
            return None
        seen = None if own is None else own.entry
        agrees = base is None if seen is None else seen.same(base)
        also = seen is not None and found is not None and seen.same(found.entry)
        if not agrees and not also and not (seen is None and found is None):
            return None
        wanted = None if found is None else held(self._record, found)
        return step(path, seen, wanted, wanted)


def _with(found: TreeFile, data: bytes) -> TreeFile:
    entry = msgspec.structs.replace(found.entry, digest=digest_of(data), size=len(data))
    return found._replace(entry=entry, data=data, stamp=None)


def held(record: WorkingCopyRecord, found: TreeFile) -> BaseEntry:
    """The entry of a file whose content is kept from now on, unless it is beyond the bound."""
    if found.data is None:
        return found.entry
    return msgspec.structs.replace(found.entry, place=record.contents.add(found.data))
