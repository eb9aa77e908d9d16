"""Selection of files and hunks: splits a change set into chosen and remaining changes, and joins them again.

What is left always leads from the chosen part's outcome to the same end, so that all parts in any order make
the whole. Nothing here touches a disk.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from portico.domain.errors import InvalidInput
from portico.review.text.change_set import (
    ChangeOperation,
    ChangeSet,
    FileChange,
    FileContent,
    apply_hunks,
    hunks_of,
)


class SelectedFile(msgspec.Struct, frozen=True):
    """A file of a proposal: all of it, or some of its hunks."""

    path: str
    hunks: tuple[str, ...] | None = None


Selection = Sequence[SelectedFile]
"""The files and hunks that a person selected; an empty selection means all."""


class SplitChanges(msgspec.Struct, frozen=True):
    chosen: ChangeSet
    rest: ChangeSet


def part(changes: ChangeSet, selection: Selection, leaving: Collection[str] = ()) -> SplitChanges:
    """The chosen part and the rest. Without a selection all is chosen but for the paths in `leaving`."""
    choices = _by_path(selection, changes)
    chosen: list[FileChange] = []
    rest: list[FileChange] = []
    for change in changes.changes:
        if selection:
            first, second = (
                _part_file(change, choices[change.path]) if change.path in choices else (None, change)
            )
        else:
            first, second = (None, change) if change.path in leaving else (change, None)
        chosen += [] if first is None else [first]
        rest += [] if second is None else [second]
    # Folders are made with the last part, and go with whichever part leaves them empty.
    return SplitChanges(
        ChangeSet(tuple(chosen), () if rest else changes.made, changes.emptied),
        ChangeSet(tuple(rest), changes.made if rest else (), changes.emptied if rest else ()),
    )


def split_off(changes: ChangeSet, selection: Selection) -> SplitChanges:
    """Split changes into those that remain if the selection is discarded, and the discarded ones."""
    choices = _by_path(selection, changes)
    staying: list[FileChange] = []
    given_up: list[FileChange] = []
    for change in changes.changes:
        if selection and change.path not in choices:
            staying.append(change)
            continue
        hunks = None if not selection else choices[change.path]
        if hunks is None:
            given_up.append(change)
            continue
        known = [hunk.hunk_id for hunk in hunks_of(change)]
        _check_known(change, hunks, known)
        kept, rest = _part_file(change, tuple(one for one in known if one not in hunks))
        if kept is not None and rest is not None:
            # Discarding lines does not discard a change of the file's mode.
            kept = msgspec.structs.replace(kept, new_mode=change.new_mode)
            rest = msgspec.structs.replace(rest, old_mode=change.new_mode)
        given_up += [] if rest is None else [rest]
        staying += [] if kept is None else [kept]
    return SplitChanges(
        ChangeSet(tuple(given_up), () if staying else changes.made, () if staying else changes.emptied),
        ChangeSet(tuple(staying), changes.made if staying else (), changes.emptied if staying else ()),
    )


def join_changes(first: ChangeSet, second: ChangeSet) -> ChangeSet:
    """One change set equal to both in sequence."""
    following = {change.old_path or change.path: change for change in second.changes}
    changes: list[FileChange] = []
    for change in first.changes:
        both = _join(change, following.pop(change.path)) if change.path in following else change
        changes += [] if both is None else [both]
    changes += [change for change in second.changes if (change.old_path or change.path) in following]
    return ChangeSet(
        tuple(changes),
        tuple(dict.fromkeys((*first.made, *second.made))),
        tuple(dict.fromkeys((*first.emptied, *second.emptied))),
    )


def _by_path(selection: Selection, changes: ChangeSet) -> Mapping[str, tuple[str, ...] | None]:
    choices = {choice.path: choice.hunks for choice in selection}
    if unknown := choices.keys() - {change.path for change in changes.changes}:
        raise InvalidInput(
            f"The proposal has no change to {', '.join(sorted(unknown))}.",
            suggestion="Look at the proposal again, and name paths as it does.",
        )
    return choices


def _part_file(
    change: FileChange, hunks: tuple[str, ...] | None
) -> tuple[FileChange | None, FileChange | None]:
    if hunks is None:
        return change, None
    found = hunks_of(change)
    _check_known(change, hunks, [hunk.hunk_id for hunk in found])
    if not hunks:
        return None, change
    if len(set(hunks)) == len(found):
        return change, None
    old = b"" if change.old is None else change.old.loaded()
    middle = FileContent.of(apply_hunks(old, found, hunks))
    # A mode changes with the last part of its file.
    early = change.new_mode if change.operation is ChangeOperation.CREATE else change.old_mode
    first = msgspec.structs.replace(
        change,
        operation=ChangeOperation.UPDATE if change.operation is ChangeOperation.DELETE else change.operation,
        new=middle,
        new_mode=early,
        conflicts=(),
    )
    second = msgspec.structs.replace(
        change,
        operation=ChangeOperation.DELETE
        if change.operation is ChangeOperation.DELETE
        else ChangeOperation.UPDATE,
        old_path=None,
        old=middle,
        old_mode=early,
        conflicts=(),
    )
    return first, second


def _check_known(change: FileChange, hunks: Iterable[str], known: Collection[str]) -> None:
    if unknown := set(hunks) - set(known):
        raise InvalidInput(
            f"{change.path} has no hunk {', '.join(sorted(unknown))}.",
            suggestion="Look at the proposal again: it may have changed since.",
        )


def _join(first: FileChange, second: FileChange) -> FileChange | None:
    """One change equal to two changes to a file in sequence; None if they cancel out."""
    if first.old is None and second.new is None:
        return None
    came_from = first.old_path or first.path
    if first.old is None:
        operation = ChangeOperation.CREATE
    elif second.new is None:
        operation = ChangeOperation.DELETE
    else:
        operation = ChangeOperation.UPDATE if came_from == second.path else ChangeOperation.RENAME
    return FileChange(
        path=came_from if operation is ChangeOperation.DELETE else second.path,
        operation=operation,
        old_path=came_from if operation is ChangeOperation.RENAME else None,
        old=first.old,
        new=second.new,
        old_mode=first.old_mode,
        new_mode=second.new_mode,
        warning=second.warning or first.warning,
    )
