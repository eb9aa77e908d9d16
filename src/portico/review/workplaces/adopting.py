"""Takes over into a workplace what a person has in an editor and has not saved, in a file the agent left alone."""

from portico.review.text.changes import digest_of
from portico.review.workplaces.changes import prefix_of
from portico.review.workplaces.records import Entry, Record, step
from portico.review.workplaces.scratch_files import Unfit, led_astray
from portico.review.workplaces.steps import perform
from portico.review.workplaces.trees import Tree


def adopt(record: Record, tree: Tree, path: str, data: bytes) -> bool:
    """Have these bytes at a path of the workspace, as its base; whether they could be taken over."""
    place = prefix_of(record) + path
    base = record.base.get(place)
    if base is None or base.link or led_astray(tree.top, place):
        return False
    try:
        found = tree.find(place, limit=-1)
    except Unfit:
        return False
    if found is None or not found.entry.same(base):
        return False
    entry = Entry(digest_of(data), len(data), base.mode, place=record.contents.add(data))
    # The disk is looked at again before the next turn: unsaved changes may never be saved.
    record.persons.pop(place, None)
    return not perform(record, tree, [step(place, found.entry, entry, entry)])
