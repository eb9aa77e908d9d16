"""Takes over into a workplace what the person changed since, in files that the agent has not changed."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from portico.files.folders import Folders
from portico.review.text.changes import digest_of
from portico.review.workplaces.changes import prefix_of, shown
from portico.review.workplaces.filling import Bounds
from portico.review.workplaces.records import Entry, Record, Stamp, Step, step
from portico.review.workplaces.scratch_files import Found, IsFolder, Unfit, current_stamp, find
from portico.review.workplaces.steps import perform
from portico.review.workplaces.trees import Tree


class Refreshed(msgspec.Struct, frozen=True):
    """Paths seen from the workspace: those `taken` over, and those `left` since the agent changed them too."""

    taken: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Refresher:
    """Brings one workplace up to date with the person's tree.

    What they have `typed` into files of the workspace and not saved counts in place of what the disk has.
    """

    def __init__(self, record: Record, tree: Tree, bounds: Bounds, typed: Mapping[str, bytes]) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._typed = {prefix_of(record) + path: data for path, data in typed.items()}
        self._stamps: dict[str, Stamp] = {}
        self._unstamped = False

    def refresh(self, listed: Iterable[str]) -> Refreshed:
        steps: list[Step] = []
        left: list[str] = []
        gone: list[str] = []
        with Folders() as folders:
            for path, found in self._changed(frozenset(listed), folders):
                one = self._planned(path, found)
                if found is None:
                    gone.append(path)
                if one is None:
                    left.append(path)
                else:
                    steps.append(one)
        if self._record.base and len(gone) == len(self._record.base) == len(steps) + len(left):
            # A disk that is not mounted looks like this; nobody means to have nothing.
            return Refreshed(left=tuple(shown(self._record, path) for path in gone))
        left += perform(self._record, self._tree, steps)
        self._renew_stamps(left)
        self._record.tidy()
        taken = sorted({each.path for each in steps}.difference(left))
        return Refreshed(
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

    def _changed(self, present: frozenset[str], folders: Folders) -> Iterator[tuple[str, Found | None]]:
        """What the person's tree has at the paths where it differs from the base."""
        root = self._record.root
        for path in sorted(present | self._record.base.keys()):
            entry = self._record.base.get(path)
            stamp = current_stamp(f"{root}/{path}", folders)
            typed = self._typed.get(path)
            known = self._record.persons.get(path)
            if typed is not None:
                # The disk is looked at again once that is saved or given up.
                self._unstamped = self._record.persons.pop(path, None) is not None or self._unstamped
            if entry is None or typed is not None:
                known = None
            if known is not None and known == stamp:
                continue
            try:
                found = find(f"{root}/{path}", self._bounds.file_bytes, folders)
            except IsFolder:
                found = None
            except Unfit:
                continue
            if found is not None and typed is not None and not found.entry.link:
                found = _with(found, typed)
            if found is not None and found.stamp is not None:
                self._stamps[path] = found.stamp
            same = entry is None if found is None else found.entry.same(entry)
            if not same:
                yield path, found

    def _planned(self, path: str, found: Found | None) -> Step | None:
        """The step by which the base moves along; None if the agent has changed the file in its own way."""
        base = self._record.base.get(path)
        try:
            own = self._tree.find_file(path, limit=-1)
        except Unfit:
            return None
        seen = None if own is None else own.entry
        agrees = base is None if seen is None else seen.same(base)
        also = seen is not None and found is not None and seen.same(found.entry)
        if not agrees and not also and not (seen is None and found is None):
            return None
        wanted = None if found is None else held(self._record, found)
        return step(path, seen, wanted, wanted)


def _with(found: Found, data: bytes) -> Found:
    entry = msgspec.structs.replace(found.entry, digest=digest_of(data), size=len(data))
    return found._replace(entry=entry, data=data, stamp=None)


def held(record: Record, found: Found) -> Entry:
    """The entry of a file whose content is kept from now on, unless it is beyond the bound."""
    if found.data is None:
        return found.entry
    return msgspec.structs.replace(found.entry, place=record.contents.add(found.data))
