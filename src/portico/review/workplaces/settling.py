"""Lets a workplace follow what the person applied and gave up of its changes."""

from portico.review.text.changes import ChangeSet, digest_of
from portico.review.workplaces.changes import prefix_of
from portico.review.workplaces.filling import Bounds
from portico.review.workplaces.records import Entry, Record, Step, step
from portico.review.workplaces.scratch_files import Found, IsFolder, Unfit, current_stamp, find, led_astray
from portico.review.workplaces.settled import Part, Unclear, Version, after_apply, parts, without
from portico.review.workplaces.steps import perform
from portico.review.workplaces.trees import Tree


class Settler:
    """Settles one workplace."""

    def __init__(self, record: Record, tree: Tree, bounds: Bounds) -> None:
        self._record = record
        self._tree = tree
        self._bounds = bounds

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

    def adopt(self, path: str, data: bytes) -> bool:
        """Make a content the base of a file, and the workplace's, if the agent has left the file as it was."""
        inner = prefix_of(self._record) + path
        base = self._record.base.get(inner)
        if base is None or base.link or base.digest == digest_of(data):
            return False
        wanted = self._entry(Version(data, base.mode))
        if perform(self._record, self._tree, [step(inner, base, wanted, wanted)]):
            return False
        if (stamp := current_stamp(f"{self._record.root}/{inner}")) is not None:
            self._record.persons[inner] = stamp  # Until the person saves, the disk has nothing newer.
            self._record.save()
        return True

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
        base_mode = None if base is None else base.mode
        settled = after_apply(after, applied, _version(self._persons(path)), base_mode)
        self._record.persons.pop(path, None)
        return [step(path, seen, self._entry(settled.own), self._entry(settled.base))]

    def _persons(self, path: str) -> Found | None:
        if led_astray(self._record.root, path):
            return None
        try:
            return find(f"{self._record.root}/{path}", self._bounds.file_bytes)
        except IsFolder:
            return None

    def _entry(self, version: Version | None) -> Entry | None:
        if version is None:
            return None
        place = self._record.contents.add(version.data)
        return Entry(digest_of(version.data), len(version.data), version.mode, place=place)


def _version(found: Found | None) -> Version | None:
    if found is None:
        return None
    if found.data is None or found.entry.link:
        raise Unfit("is a link, or too large to be settled")
    return Version(found.data, found.entry.mode)
