"""Lets a workplace follow what the person applied and gave up of its changes."""

from collections.abc import Mapping

from portico.review.text.changes import LINK_MODE, ChangeSet, digest_of
from portico.review.workplaces.changes import mode_of, prefix_of
from portico.review.workplaces.filling import Bounds
from portico.review.workplaces.records import Entry, Record, Step, step
from portico.review.workplaces.scratch_files import (
    LINK_PERMISSIONS,
    Found,
    IsFolder,
    Unfit,
    find,
)
from portico.review.workplaces.settled import Part, Unclear, Version, after_apply, parts, without
from portico.review.workplaces.steps import perform
from portico.review.workplaces.trees import Tree


class Settler:
    """Settles one workplace. Files of the workspace hold what is `typed` into them, saved or not."""

    def __init__(self, record: Record, tree: Tree, bounds: Bounds, typed: Mapping[str, bytes]) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds
        self._typed = {prefix_of(record) + path: data for path, data in typed.items()}

    def settle(self, applied: ChangeSet, discarded: ChangeSet) -> tuple[str, ...]:
        """The paths, seen from the workspace, in which a given up part could not be told from the rest."""
        prefix = prefix_of(self._record)
        taken, given_up = parts(applied), parts(discarded)
        steps: list[Step] = []
        unclear: list[str] = []
        for path in sorted(taken.keys() | given_up.keys()):
            try:
                steps += self._planned(prefix + path, taken.get(path), given_up.get(path))
            except (Unclear, Unfit):
                unclear.append(path)
        refused = perform(self._record, self._tree, steps)
        self._record.tidy()
        return tuple(sorted({*unclear, *(path[len(prefix) :] for path in refused)}))

    def _planned(self, path: str, applied: Part | None, given_up: Part | None) -> list[Step]:
        found = self._tree.find_file(path, self._bounds.file_bytes)
        own = _version(found)
        base = self._record.base.get(path)
        after = own
        try:
            if given_up is not None:
                after = without(own, given_up)
        except Unclear:
            if applied is None:
                raise
        seen = None if found is None else found.entry
        if applied is None:
            return [step(path, seen, self._entry(after), base)]
        base_mode = None if base is None else mode_of(base)
        settled = after_apply(after, applied, self._persons(path), base_mode)
        self._record.persons.pop(path, None)
        return [step(path, seen, self._entry(settled.own), self._entry(settled.base))]

    def _persons(self, path: str) -> Version | None:
        try:
            saved = _version(find(f"{self._record.root}/{path}", self._bounds.file_bytes))
        except IsFolder:
            return None
        typed = self._typed.get(path)
        if saved is None or typed is None or saved.mode == LINK_MODE:
            return saved
        return Version(typed, saved.mode)

    def _entry(self, version: Version | None) -> Entry | None:
        if version is None:
            return None
        place = self._record.contents.add(version.data)
        link = version.mode == LINK_MODE
        mode = LINK_PERMISSIONS if link else version.mode
        return Entry(digest_of(version.data), len(version.data), mode, link, place)


def _version(found: Found | None) -> Version | None:
    if found is None:
        return None
    if found.data is None:
        raise Unfit("is too large to be settled")
    return Version(found.data, mode_of(found.entry))
