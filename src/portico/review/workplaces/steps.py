"""Carries out what a workplace was told: files go from what was seen to what is wanted, and the base follows.

All steps are in the record before the first file is touched. A file that is neither what was seen nor what is
wanted was changed by the agent meanwhile: it is left alone, and so is its base.
"""

from collections.abc import Sequence

from portico.review.workplaces.records import NOT_HELD, Entry, Record, Step
from portico.review.workplaces.scratch_files import Found, Unfit
from portico.review.workplaces.trees import Tree


def perform(record: Record, tree: Tree, steps: Sequence[Step]) -> tuple[str, ...]:
    """Do all steps. The paths at which something was in the way are returned."""
    if not steps:
        return ()
    record.steps = tuple(sorted(steps, key=lambda each: (each.wanted is not None, each.name)))
    record.save()
    return finish(record, tree)


def finish(record: Record, tree: Tree) -> tuple[str, ...]:
    """Do what is left of the steps in the record."""
    refused = [each.path for each in record.steps if not _take(record, tree, each)]
    record.steps = ()
    record.save()
    return tuple(refused)


def _take(record: Record, tree: Tree, step: Step) -> bool:
    path = step.path
    try:
        found = tree.find_file(path, limit=-1)
    except Unfit:
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


def _change(record: Record, tree: Tree, step: Step) -> bool:
    if step.wanted is None:
        return tree.remove(step.path)
    if step.wanted.place == NOT_HELD:
        return tree.put(step.path, step.wanted, record.root / step.path) is not None
    return tree.put(step.path, step.wanted, record.contents.read(step.wanted)) is not None


def _is(found: Found | None, entry: Entry | None) -> bool:
    return entry is None if found is None else found.entry.same(entry)
