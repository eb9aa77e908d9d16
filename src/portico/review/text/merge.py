"""Three-way merge of a file by line.

Changes that are apart are both taken. Changes that overlap or touch are a conflict, unless both did the same.
"""

import msgspec

from portico.review.text.change_set import Conflict
from portico.review.text.common_lines import LineEdit, edits_between, numbered
from portico.review.text.lines import common_breaks, split_lines


class ThreeWayMerge(msgspec.Struct, frozen=True):
    """A file as stretches of agreed bytes and conflicts, in order."""

    regions: tuple[bytes | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(region for region in self.regions if isinstance(region, Conflict))

    @property
    def merged(self) -> bytes | None:
        """The merged content, or None as long as there are conflicts."""
        return None if self.conflicts else b"".join(one for one in self.regions if isinstance(one, bytes))


class _Side:
    """One version, traversed along its edits against the base."""

    def __init__(self, lines: list[bytes], edits: list[LineEdit]) -> None:
        self.lines = lines
        self._edits = edits[::-1]
        self._shift = 0

    @property
    def next(self) -> LineEdit | None:
        return self._edits[-1] if self._edits else None

    def take(self) -> LineEdit:
        edit = self._edits.pop()
        self._shift = edit.new_to - edit.old_to
        return edit

    def line_for(self, base_line: int) -> int:
        """Line number here of a line of the base, if no open edit precedes it."""
        return base_line + self._shift


def merge(base: bytes, person: bytes, agent: bytes) -> ThreeWayMerge:
    """Both sets of changes to the base. What cannot be compared by line merges only if one side kept it."""
    if agent in (base, person):
        return ThreeWayMerge((person,))
    if person == base:
        return ThreeWayMerge((agent,))
    breaks = common_breaks(base, person, agent)
    if breaks is None:
        return ThreeWayMerge((Conflict(base, person, agent),))
    base_lines, person_lines, agent_lines = (split_lines(one, breaks) for one in (base, person, agent))
    numbers = numbered(base_lines, person_lines, agent_lines)
    return _walk(
        base_lines,
        _Side(person_lines, edits_between(numbers[0], numbers[1])),
        _Side(agent_lines, edits_between(numbers[0], numbers[2])),
    )


def _walk(base: list[bytes], person: _Side, agent: _Side) -> ThreeWayMerge:
    regions: list[bytes | Conflict] = []
    agreed: list[bytes] = []
    at = 0
    while person.next is not None or agent.next is not None:
        start = min(side.next.old_from for side in (person, agent) if side.next is not None)
        agreed += base[at:start]
        person_from, agent_from = person.line_for(start), agent.line_for(start)
        at, touched = _cluster(start, person, agent)
        ours = person.lines[person_from : person.line_for(at)]
        theirs = agent.lines[agent_from : agent.line_for(at)]
        if agent not in touched or ours == theirs:
            agreed += ours
        elif person not in touched:
            agreed += theirs
        else:
            head, tail = _common_ends(ours, theirs)
            agreed += ours[:head]
            regions.append(b"".join(agreed))
            regions.append(
                Conflict(
                    b"".join(base[start:at]),
                    b"".join(ours[head : len(ours) - tail]),
                    b"".join(theirs[head : len(theirs) - tail]),
                    person_from + head + 1,
                )
            )
            agreed = ours[len(ours) - tail :]
    regions.append(b"".join((*agreed, *base[at:])))
    return ThreeWayMerge(tuple(region for region in regions if region))


def _cluster(start: int, person: _Side, agent: _Side) -> tuple[int, set[_Side]]:
    """Take all edits from here that overlap or touch one of the other side: where they end, and whose they are."""
    end = start
    touched: set[_Side] = set()
    grown = True
    while grown:
        grown = False
        for side in (person, agent):
            edit = side.next
            if edit is not None and edit.old_from <= end:
                side.take()
                end = max(end, edit.old_to)
                touched.add(side)
                grown = True
    return end, touched


def _common_ends(ours: list[bytes], theirs: list[bytes]) -> tuple[int, int]:
    """Number of common lines at the start and the end of a conflict."""
    most = min(len(ours), len(theirs))
    head = 0
    while head < most and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < most - head and ours[len(ours) - tail - 1] == theirs[len(theirs) - tail - 1]:
        tail += 1
    return head, tail
