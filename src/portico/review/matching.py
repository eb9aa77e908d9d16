"""Finds which lines two versions of a file share, in order: the heart of every diff and merge.

Lines that stand once in both versions are anchors (patience), and between anchors the rest is searched for the
shortest edit in linear space (Myers). A search that becomes too costly takes the furthest way found so far: on
hostile input the answer gets longer, never wrong and never slow.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Edits one search may look at before it takes the best way found. The time grows with lines x this.
SEARCH_DEPTH = 160

_NOWHERE = -(1 << 40)


class Edit(NamedTuple):
    """Lines [old_from, old_to) become lines [new_from, new_to)."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int


class _Span(NamedTuple):
    """A part of both versions that is yet to be compared, or known to be the same."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    same: bool = False


def numbered(*versions: Sequence[bytes]) -> list[list[int]]:
    """Versions as numbers, equal for equal lines."""
    numbers: dict[bytes, int] = {}
    return [[numbers.setdefault(line, len(numbers)) for line in lines] for lines in versions]


def edits_between(old: list[int], new: list[int]) -> list[Edit]:
    """What turns the old lines into the new ones, in order, each edit apart from the next."""
    edits: list[Edit] = []
    old_at = new_at = 0
    for old_from, new_from, length in _shared(old, new):
        if old_from > old_at or new_from > new_at:
            edits.append(Edit(old_at, old_from, new_at, new_from))
        old_at, new_at = old_from + length, new_from + length
    if old_at < len(old) or new_at < len(new):
        edits.append(Edit(old_at, len(old), new_at, len(new)))
    return _settled(old, new, edits)


def _shared(old: list[int], new: list[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of shared lines, in order: where they begin in both, and how many they are."""
    spans = [_Span(0, len(old), 0, len(new))]
    while spans:
        span = spans.pop()
        old_from, old_to, new_from, new_to, same = span
        if same:
            yield old_from, new_from, old_to - old_from
            continue
        head = _common_head(old, new, span)
        if head:
            yield old_from, new_from, head
            old_from, new_from = old_from + head, new_from + head
        tail = 0
        while old_from < old_to - tail and new_from < new_to - tail:
            if old[old_to - tail - 1] != new[new_to - tail - 1]:
                break
            tail += 1
        if tail:
            spans.append(_Span(old_to - tail, old_to, new_to - tail, new_to, same=True))
            old_to, new_to = old_to - tail, new_to - tail
        if old_from < old_to and new_from < new_to:
            inner = _Span(old_from, old_to, new_from, new_to)
            spans.extend(reversed(_anchored(old, new, inner) or _searched(old, new, inner)))


def _common_head(old: list[int], new: list[int], span: _Span) -> int:
    """How many lines two parts share at their beginning; long stretches are compared at once."""
    at, step = 0, 1
    most = min(span.old_to - span.old_from, span.new_to - span.new_from)
    while at < most:
        step = min(step, most - at)
        old_at, new_at = span.old_from + at, span.new_from + at
        if old[old_at : old_at + step] == new[new_at : new_at + step]:
            at, step = at + step, step * 2
        elif step == 1:
            break
        else:
            step = max(1, step // 4)
    return at


def _anchored(old: list[int], new: list[int], span: _Span) -> list[_Span]:
    """The part cut at the lines that stand once in both versions; empty if there are none."""
    in_old = _positions(old, span.old_from, span.old_to)
    in_new = _positions(new, span.new_from, span.new_to)
    pairs = [(at, other) for line, at in in_old.items() if at >= 0 and (other := in_new.get(line, -1)) >= 0]
    if not pairs:
        return []
    spans: list[_Span] = []
    old_at, new_at = span.old_from, span.new_from
    run_old, run_new = old_at, new_at
    for old_line, new_line in _rising(pairs):
        if old_line != old_at or new_line != new_at:
            if old_at > run_old:
                spans.append(_Span(run_old, old_at, run_new, new_at, same=True))
            spans.append(_Span(old_at, old_line, new_at, new_line))
            run_old, run_new = old_line, new_line
        old_at, new_at = old_line + 1, new_line + 1
    spans.append(_Span(run_old, old_at, run_new, new_at, same=True))
    spans.append(_Span(old_at, span.old_to, new_at, span.new_to))
    return spans


def _positions(lines: list[int], start: int, end: int) -> dict[int, int]:
    """Where each line stands, or -1 if it does so more than once."""
    positions: dict[int, int] = {}
    for at in range(start, end):
        line = lines[at]
        positions[line] = -1 if line in positions else at
    return positions


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs in which both sides rise; the first side does so already."""
    seconds = [second for _, second in pairs]
    if seconds == sorted(seconds):
        return pairs
    tops: list[int] = []
    top_indexes: list[int] = []
    before = [-1] * len(pairs)
    for index, second in enumerate(seconds):
        pile = bisect_left(tops, second)
        before[index] = top_indexes[pile - 1] if pile else -1
        tops[pile : pile + 1] = [second]
        top_indexes[pile : pile + 1] = [index]
    chosen: list[tuple[int, int]] = []
    index = top_indexes[-1]
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _searched(old: list[int], new: list[int], span: _Span) -> list[_Span]:
    """Shared lines of a part without anchors. Lines that only one side has are left out of the search."""
    known = set(old[span.old_from : span.old_to]) & set(new[span.new_from : span.new_to])
    old_places = [at for at in range(span.old_from, span.old_to) if old[at] in known]
    new_places = [at for at in range(span.new_from, span.new_to) if new[at] in known]
    pairs = _shortest([old[at] for at in old_places], [new[at] for at in new_places])
    return [
        _Span(old_places[one], old_places[one] + 1, new_places[other], new_places[other] + 1, same=True)
        for one, other in pairs
    ]


def _shortest(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    parts = [(0, len(old), 0, len(new))]
    while parts:
        old_from, old_to, new_from, new_to = parts.pop()
        while old_from < old_to and new_from < new_to and old[old_from] == new[new_from]:
            pairs.append((old_from, new_from))
            old_from, new_from = old_from + 1, new_from + 1
        while old_from < old_to and new_from < new_to and old[old_to - 1] == new[new_to - 1]:
            old_to, new_to = old_to - 1, new_to - 1
            pairs.append((old_to, new_to))
        if old_from < old_to and new_from < new_to:
            old_cut, new_cut = _middle(old[old_from:old_to], new[new_from:new_to])
            parts.append((old_from, old_from + old_cut, new_from, new_from + new_cut))
            parts.append((old_from + old_cut, old_to, new_from + new_cut, new_to))
    pairs.sort()
    return pairs


def _middle(old: list[int], new: list[int]) -> tuple[int, int]:
    """A point on a shortest way from both beginnings to both ends, looked for from both sides at once."""
    size, other_size = len(old), len(new)
    difference = size - other_size
    forward, backward = _Reach(old, new), _Reach(old[::-1], new[::-1])
    for depth in range(min(SEARCH_DEPTH, size + other_size)):
        for diagonal in forward.step(depth):
            x = forward.furthest[diagonal]
            if difference % 2 and x + backward.furthest.get(difference - diagonal, _NOWHERE) >= size:
                return x, x - diagonal
        for diagonal in backward.step(depth):
            x = backward.furthest[diagonal]
            if not difference % 2 and x + forward.furthest.get(difference - diagonal, _NOWHERE) >= size:
                return size - x, other_size - x + diagonal
    diagonal = max(forward.furthest, key=lambda one: 2 * forward.furthest[one] - one)
    return forward.furthest[diagonal], forward.furthest[diagonal] - diagonal


class _Reach:
    """How far along each diagonal a number of edits leads, from the beginning of both sides."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old = old
        self._new = new
        self.furthest: dict[int, int] = {}

    def step(self, depth: int) -> Iterator[int]:
        """Go one edit further, and say each diagonal on which that led somewhere."""
        old, new, furthest = self._old, self._new, self.furthest
        size, other_size = len(old), len(new)
        lowest = -depth + 2 * max(0, depth - other_size)
        for diagonal in range(lowest, depth + 1 - 2 * max(0, depth - size), 2):
            right = furthest.get(diagonal - 1, _NOWHERE) + 1
            down = furthest.get(diagonal + 1, _NOWHERE)
            x = 0 if depth == 0 else _NOWHERE
            if right <= size:
                x = max(x, right)
            if down - diagonal <= other_size:
                x = max(x, down)
            if x < 0:
                furthest.pop(diagonal, None)
                continue
            y = x - diagonal
            while x < size and y < other_size and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            yield diagonal


def _settled(old: list[int], new: list[int], edits: list[Edit]) -> list[Edit]:
    """Move lines that are only added or only removed as far down as they mean the same; join what meets."""
    settled: list[Edit] = []
    for index, edit in enumerate(edits):
        if settled and settled[-1].old_to == edit.old_from and settled[-1].new_to == edit.new_from:
            edit = Edit(settled[-1].old_from, edit.old_to, settled.pop().new_from, edit.new_to)  # noqa: PLW2901
        room = (edits[index + 1].old_from if index + 1 < len(edits) else len(old)) - edit.old_to
        down = 0
        if edit.old_from == edit.old_to:
            while down < room and new[edit.new_from + down] == new[edit.new_to + down]:
                down += 1
        elif edit.new_from == edit.new_to:
            while down < room and old[edit.old_from + down] == old[edit.old_to + down]:
                down += 1
        settled.append(Edit(*(at + down for at in edit)))
    return settled
