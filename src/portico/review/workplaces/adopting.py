"""Takes over into a workplace what a person has in an editor and has not saved, in a file the agent left alone."""

import msgspec

from portico.review.text.changes import digest_of
from portico.review.workplaces.changes import prefix_of
from portico.review.workplaces.records import Record, step
from portico.review.workplaces.scratch_files import current_stamp
from portico.review.workplaces.steps import perform
from portico.review.workplaces.trees import Tree


def adopt(record: Record, tree: Tree, path: str, data: bytes) -> bool:
    """Have these bytes at a path of the workspace, as its base; whether they were taken over."""
    place = prefix_of(record) + path
    base = record.base.get(place)
    if base is None or base.link or base.digest == digest_of(data):
        return False
    kept = record.contents.add(data)
    wanted = msgspec.structs.replace(base, digest=digest_of(data), size=len(data), place=kept)
    if perform(record, tree, [step(place, base, wanted, wanted)]):
        return False
    if (stamp := current_stamp(f"{record.root}/{place}")) is not None:
        record.persons[place] = stamp  # Until the person saves, the disk has nothing newer.
        record.save()
    return True
