"""Comparison of a workspace with a checkpoint, and whose work lies between two checkpoints."""

import itertools
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import msgspec

from portico.domain.errors import PorticoError
from portico.review.checkpoints.checkpoint import Checkpoint, CheckpointEntry, Moment, Snapshot
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.checkpoints.snapshot_repository import SnapshotDifference, SnapshotRepository
from portico.review.git.tree_changes import changed_names

ChangeKind = Literal["changed", "new", "removed", "permissions"]
_BEGINNINGS = frozenset({Moment.BEFORE_TURN, Moment.BEFORE_APPLY})


class CheckpointComparison(msgspec.Struct, frozen=True):
    """Files that differ from a checkpoint, and those of the `touched` ones that no checkpoint holds."""

    changes: dict[str, ChangeKind]
    unheld: frozenset[str]


class CheckpointStep(NamedTuple):
    """Two checkpoints in a row. The step is `worked` if an agent or an apply made the changes between them."""

    earlier: Checkpoint
    later: Checkpoint
    worked: bool


def steps(listed: Collection[Checkpoint], first: str = "", last: str = "~") -> Iterator[CheckpointStep]:
    """The steps from one checkpoint to another, oldest first, of a list that begins with the newest.

    A `watch` says nothing about whose work surrounds it, so it counts only as the first one.
    """
    chosen = [
        each
        for each in sorted(listed, key=lambda one: one.id)
        if each.id == first or (first < each.id <= last and not each.watch)
    ]
    for earlier, later in itertools.pairwise(chosen):
        yield CheckpointStep(
            earlier, later, earlier.moment in _BEGINNINGS and later.moment is Moment.AFTER_TURN
        )


async def list_entries(snapshots: SnapshotRepository, bounds: SnapshotBounds) -> tuple[CheckpointEntry, ...]:
    """All checkpoints, newest first, each with the files that changed after it."""
    listed = await snapshots.refs.list()
    if not listed:
        return ()
    try:
        now = (await snapshots.snapshot(bounds, hurried=True)).tree
    except PorticoError:
        now = ""
    pairs = [(one.tree, later.tree) for later, one in itertools.pairwise(listed)]
    first, *others = await changed_names(snapshots.git, [(listed[0].tree, now or listed[0].tree), *pairs])
    changes = [first if now else None, *others]
    return tuple(CheckpointEntry(one, each) for one, each in zip(listed, changes, strict=True))


async def compare(
    snapshots: SnapshotRepository,
    before: Checkpoint,
    now: Snapshot,
    listed: Collection[Checkpoint],
    touched: Collection[str],
) -> CheckpointComparison:
    """Changes since a checkpoint, without those that other sessions are known to have made."""
    differences = await snapshots.differences(before.tree, now.tree)
    known = await _known(snapshots, before, now, listed)
    changes = {each.path: _kind(each) for each in differences if each.path not in known}
    earlier, later = snapshots.permissions(before.permissions), snapshots.permissions(now.permissions)
    differing = {each.path for each in differences}
    if earlier is not None and later is not None:
        for path, _, _ in earlier.differing(later):
            if path not in differing:
                changes[path] = "permissions"
    unheld = set(touched) - differing
    if unheld:
        unheld -= await snapshots.names(before.tree) | await snapshots.names(now.tree)
    return CheckpointComparison(changes, frozenset(unheld))


async def _known(
    snapshots: SnapshotRepository, before: Checkpoint, now: Snapshot, listed: Collection[Checkpoint]
) -> set[str]:
    """Files that another session changed since, and that are still as it left them."""
    known: set[str] = set()
    for step in steps(listed):
        if step.worked and step.later.id > before.id:
            changed = {each.path for each in await snapshots.differences(step.earlier.tree, step.later.tree)}
            again = {each.path for each in await snapshots.differences(step.later.tree, now.tree)}
            known = (known | changed) - again
    return known


def _kind(difference: SnapshotDifference) -> ChangeKind:
    if not difference.old.exists:
        return "new"
    return "changed" if difference.new.exists else "removed"
