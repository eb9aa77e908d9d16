"""Execution of the pending steps in a working copy record, repeatable after a crash.

All steps are in the record before the first file is touched. A file that is neither as seen nor as wanted was
changed by the agent in between: it is not touched, and neither is its base.
"""

from collections.abc import Sequence

from portico.review.working_copies.file_access import TreeFile, UnusableEntry
from portico.review.working_copies.record import NOT_HELD, BaseEntry, CopyStep, WorkingCopyRecord
from portico.review.working_copies.tree import CopyTree


def perform_steps(record: WorkingCopyRecord, tree: CopyTree, steps: Sequence[CopyStep]) -> tuple[str, ...]:
    """Perform all steps; paths that could not be written."""
    if not steps:
        return ()
    record.steps = tuple(sorted(steps, key=lambda each: (each.wanted is not None, each.name)))
    record.save()
    return finish_steps(record, tree)


def finish_steps(record: WorkingCopyRecord, tree: CopyTree) -> tuple[str, ...]:
    """Do what is left of the steps in the record."""
    refused = [each.path for each in record.steps if not _take(record, tree, each)]
    record.steps = ()
    record.save()
    return tuple(refused)


def _take(record: WorkingCopyRecord, tree: CopyTree, step: CopyStep) -> bool:
    path = step.path
    try:
        found = tree.find_file(path, limit=-1)
    except UnusableEntry:
        return False
    if not _is(found, step.wanted) and not _is(found, step.seen):
        return False
    # A file that is gone may have left its folder, if a kill came in between.
    if (step.wanted is None or not _is(found, step.wanted)) and not _change(record, tree, step):
        return False
    record.own.pop(path, None)
    if step.base is None:
        record.base.pop(path, None)
        record.persons.pop(path, None)
    else:
        record.base[path] = step.base
    return True


def _change(record: WorkingCopyRecord, tree: CopyTree, step: CopyStep) -> bool:
    if step.wanted is None:
        return tree.remove(step.path)
    if step.wanted.place == NOT_HELD:
        return tree.put(step.path, step.wanted, record.root / step.path) is not None
    return tree.put(step.path, step.wanted, record.contents.read(step.wanted)) is not None


def _is(found: TreeFile | None, entry: BaseEntry | None) -> bool:
    return entry is None if found is None else found.entry.same(entry)
