"""Resolution of conflicts: the three sides of a file, and the result of taking one side.

Only what truly collides goes to one side. Changes of the other side elsewhere in the file stay.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.files import real_path
from portico.review.files.disk import Disk, DiskFile
from portico.review.files.path_rules import PathRules
from portico.review.text.change_set import ChangeOperation, ChangeSet, Conflict, FileChange, FileContent
from portico.review.text.merge import ThreeWayMerge, merge

Side = Literal["agent", "person"]


class ConflictSides(msgspec.Struct, frozen=True, kw_only=True):
    """A file three times: where the change began, as the person has it now, and as the agent wants it.

    A side that is None has no such file. `merged` is both together, where nothing collides.
    """

    base: bytes | None
    person: bytes | None
    agent: bytes | None
    merged: bytes | None
    conflicts: tuple[Conflict, ...] = ()


class ResolvedChanges(msgspec.Struct, frozen=True):
    """Changes that apply now, and those that the person's side made needless."""

    changes: ChangeSet
    dropped: tuple[FileChange, ...] = ()


class ConflictResolver:
    """Looks at one workspace as it is now, on the `disk` as its person sees it."""

    def __init__(self, workspace: Path, disk: Disk) -> None:
        self._disk = disk
        self._places = PathRules(workspace, folds_names=False)

    def sides(self, change: FileChange) -> ConflictSides:
        found = self._see(change.old_path or change.path, links=change.links)
        base = None if change.old is None else change.old.loaded()
        agent = None if change.new is None else change.new.loaded()
        person = None if found is None else found.data
        there = self._see(change.path) if change.old_path is not None else None
        if there is not None:
            clash = Conflict(None, there.data, agent)
            return ConflictSides(base=base, person=there.data, agent=agent, merged=None, conflicts=(clash,))
        both = None if change.links else _merged(base, person, agent)
        merged = both.merged if both is not None else agent if person == base else person
        collide = both.conflicts if both is not None else ()
        if both is None and person not in (base, agent):
            merged, collide = None, (Conflict(base, person, agent),)
        return ConflictSides(base=base, person=person, agent=agent, merged=merged, conflicts=collide)

    def resolve(self, changes: ChangeSet, choices: Mapping[str, Side]) -> ResolvedChanges:
        """The changes, with each chosen file rebased on its current content."""
        unknown = choices.keys() - {change.path for change in changes.changes}
        if unknown or not set(choices.values()) <= {"agent", "person"}:
            raise InvalidInput(
                f"There is nothing to resolve in {', '.join(sorted(unknown))}."
                if unknown
                else "A conflict is resolved by the agent's side or the person's.",
                suggestion="Name files that are applied now, each with “agent” or “person”.",
            )
        resolved: list[FileChange] = []
        dropped: list[FileChange] = []
        for change in changes.changes:
            if change.path not in choices:
                resolved.append(change)
                continue
            made = self._resolve(change, choices[change.path])
            resolved += made
            dropped += [] if made else [change]
        return ResolvedChanges(msgspec.structs.replace(changes, changes=tuple(resolved)), tuple(dropped))

    def _resolve(self, change: FileChange, side: Side) -> list[FileChange]:
        source = self._look(change.old_path or change.path, links=change.links)
        there = self._look(change.path) if change.old_path is not None else source
        base = None if change.old is None else change.old.loaded()
        agent = None if change.new is None else change.new.loaded()
        if change.old_path is not None and there is not None:
            # Another file has taken the new name: it gives way, or the rename does.
            if side == "person":
                return []
            leaving = [] if source is None else [_change(change.old_path, source, None, None)]
            return [*leaving, _change(change.path, there, agent, change.new_mode)]
        both = None if change.links else _merged(base, None if source is None else source.data, agent)
        content = agent if both is None else _one_sided(both, side)
        if both is None and side == "person":
            return []
        if source is None:
            return [] if content is None else [_change(change.path, None, content, change.new_mode)]
        if change.old_path is not None and content is not None:
            return [
                msgspec.structs.replace(change, old=FileContent.of(source.data), new=FileContent.of(content))
            ]
        meant = change.new_mode if change.links or change.new_mode != change.old_mode else None
        if content == source.data and meant in (None, source.mode):
            return []
        return [_change(change.path, source, content, meant)]

    def _see(self, path: str, *, links: bool = False) -> DiskFile | None:
        """The file that is there for who only looks. What an apply will refuse, a folder say, is none to them."""
        try:
            return self._look(path, links=links)
        except (InvalidInput, PermissionDenied):
            return None

    def _look(self, path: str, *, links: bool = False) -> DiskFile | None:
        place = self._places.entry(path) if links else self._places.file(path, leaving=())
        if place.is_dir() and not place.is_symlink():
            raise InvalidInput(
                f"{path} is a folder, not a file; nothing was changed.",
                suggestion="Leave this file out, or move the folder away.",
            )
        try:
            return self._disk.read_entry(place)
        except OSError as error:
            if error.errno in real_path.ABSENT:
                return None
            raise


def _merged(base: bytes | None, person: bytes | None, agent: bytes | None) -> ThreeWayMerge | None:
    """All three by line, or None where a file came or went."""
    if base is None or person is None or agent is None:
        return None
    return merge(base, person, agent)


def _one_sided(both: ThreeWayMerge, side: Side) -> bytes:
    pieces: list[bytes] = []
    for region in both.regions:
        if isinstance(region, bytes):
            pieces.append(region)
        else:
            pieces.append((region.agent if side == "agent" else region.person) or b"")
    return b"".join(pieces)


def _change(path: str, found: DiskFile | None, new: bytes | None, mode: int | None) -> FileChange:
    return FileChange(
        path=path,
        operation=ChangeOperation.between(found, new),
        old=None if found is None else FileContent.of(found.data),
        new=None if new is None else FileContent.of(new),
        old_mode=None if found is None else found.mode,
        new_mode=None if new is None else mode,
    )
