"""Lines that two versions of a file share: patience anchors, then Myers in linear space.

Lines that stand once in both versions are anchors (patience), and between anchors the rest is searched for the
shortest edit in linear space (Myers). A search that becomes too costly takes the furthest way found so far: on
hostile input the answer gets longer, never wrong and never slow.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

# Edits one search may look at before it takes the best way found.
SEARCH_DEPTH = 160
# Steps all searches of one diff may take, about half a second, before the rest is only walked through once.
EFFORT = 400_000
_LOOK_AHEAD = 8

# After a small edit, so many equal lines, so many of them different from each other, mean that it is over.
_RESUMED_LINES = 24
_RESUMED_KINDS = 8
_SMALL_EDIT = 6

_NOWHERE = -(1 << 40)


class LineEdit(NamedTuple):
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
    numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, lines)) for lines in versions]


def edits_between(old: list[int], new: list[int]) -> list[LineEdit]:
    """Edits that turn the old lines into the new ones, in order and not adjacent."""
    edits: list[LineEdit] = []
    old_at = new_at = 0
    for old_from, new_from, length in _Comparison(old, new).shared():
        if old_from > old_at or new_from > new_at:
            edits.append(LineEdit(old_at, old_from, new_at, new_from))
        old_at, new_at = old_from + length, new_from + length
    if old_at < len(old) or new_at < len(new):
        edits.append(LineEdit(old_at, len(old), new_at, len(new)))
    return _joined(old, new, edits)


class _Comparison:
    """Two versions that are being compared, and the effort left for it."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old = old
        self._new = new
        self._search = _Search()

    def shared(self) -> Iterator[tuple[int, int, int]]:
        """Runs of shared lines, in order: where they begin in both, and how many they are."""
        old, new = self._old, self._new
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
                spans.extend(reversed(self._cut(_Span(old_from, old_to, new_from, new_to))))

    def _cut(self, span: _Span) -> list[_Span]:
        old, new = self._old, self._new
        return (
            _resumed(old, new, span) or _anchored(old, new, span) or _searched(old, new, span, self._search)
        )


def _resumed(old: list[int], new: list[int], span: _Span) -> list[_Span]:
    """A small edit at the begin and the rest, if it is plain where the versions go on alike; else empty."""
    if min(span.old_to - span.old_from, span.new_to - span.new_from) < 4 * _RESUMED_LINES:
        return []
    for total in range(1, 2 * _SMALL_EDIT + 1):
        for removed in range(max(0, total - _SMALL_EDIT), min(total, _SMALL_EDIT) + 1):
            old_at, new_at = span.old_from + removed, span.new_from + total - removed
            if old[old_at] != new[new_at]:
                continue
            stretch = old[old_at : old_at + _RESUMED_LINES]
            if stretch == new[new_at : new_at + _RESUMED_LINES] and len(set(stretch)) >= _RESUMED_KINDS:
                edit = _Span(span.old_from, old_at, span.new_from, new_at)
                return [edit, _Span(old_at, span.old_to, new_at, span.new_to)]
    return []


def _common_head(old: list[int], new: list[int], span: _Span) -> int:
    """Number of common lines at the beginning; long runs are compared at once."""
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
    """Position of each line, or -1 if it occurs more than once."""
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


def _searched(old: list[int], new: list[int], span: _Span, search: "_Search") -> list[_Span]:
    """Shared lines of a part without anchors. Lines that only one side has are left out of the search."""
    known = set(old[span.old_from : span.old_to]) & set(new[span.new_from : span.new_to])
    old_places = [at for at in range(span.old_from, span.old_to) if old[at] in known]
    new_places = [at for at in range(span.new_from, span.new_to) if new[at] in known]
    pairs = search.shortest([old[at] for at in old_places], [new[at] for at in new_places])
    return [
        _Span(old_places[one], old_places[one] + 1, new_places[other], new_places[other] + 1, same=True)
        for one, other in pairs
    ]


class _Search:
    """Looks for shortest edits as long as there is effort left, then for any."""

    def __init__(self) -> None:
        self._effort = EFFORT

    def shortest(self, old: list[int], new: list[int]) -> list[tuple[int, int]]:
        """Pairs of places of shared lines, in order."""
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
            if self._effort <= 0:
                pairs += _walked(old, new, _Span(old_from, old_to, new_from, new_to))
            elif old_from < old_to and new_from < new_to:
                old_cut, new_cut = self._middle(old, new, _Span(old_from, old_to, new_from, new_to))
                parts.append((old_from, old_cut, new_from, new_cut))
                parts.append((old_cut, old_to, new_cut, new_to))
        pairs.sort()
        return pairs

    def _middle(self, old: list[int], new: list[int], span: _Span) -> tuple[int, int]:
        """A point on a shortest way through the part, looked for from both of its ends at once."""
        forward, backward = _Reach(old, new, span, 1), _Reach(old, new, span, -1)
        size, difference = forward.size, forward.size - forward.other_size
        for depth in range(min(SEARCH_DEPTH, size + forward.other_size)):
            self._effort -= 2 * depth
            for diagonal in forward.step(depth):
                x = forward.furthest[diagonal]
                if difference % 2 and x + backward.furthest.get(difference - diagonal, _NOWHERE) >= size:
                    return span.old_from + x, span.new_from + x - diagonal
            for diagonal in backward.step(depth):
                x = backward.furthest[diagonal]
                if not difference % 2 and x + forward.furthest.get(difference - diagonal, _NOWHERE) >= size:
                    return span.old_to - x, span.new_to - x + diagonal
        diagonal = max(forward.furthest, key=lambda one: 2 * forward.furthest[one] - one)
        x = forward.furthest[diagonal]
        return span.old_from + x, span.new_from + x - diagonal


def _walked(old: list[int], new: list[int], span: _Span) -> Iterator[tuple[int, int]]:
    """Some shared lines, found in one walk that looks a few lines ahead on both sides."""
    old_at, new_at = span.old_from, span.new_from
    while old_at < span.old_to and new_at < span.new_to:
        if old[old_at] == new[new_at]:
            yield old_at, new_at
            old_at, new_at = old_at + 1, new_at + 1
            continue
        for ahead in range(1, _LOOK_AHEAD + 1):
            if old_at + ahead < span.old_to and old[old_at + ahead] == new[new_at]:
                old_at += ahead
                break
            if new_at + ahead < span.new_to and new[new_at + ahead] == old[old_at]:
                new_at += ahead
                break
        else:
            old_at, new_at = old_at + 1, new_at + 1


class _Reach:
    """Furthest point on each diagonal for a number of edits, from one end of a part."""

    def __init__(self, old: list[int], new: list[int], span: _Span, direction: int) -> None:
        self._old = old
        self._new = new
        self._direction = direction
        self._origins = (
            (span.old_from, span.new_from) if direction > 0 else (span.old_to - 1, span.new_to - 1)
        )
        self.size = span.old_to - span.old_from
        self.other_size = span.new_to - span.new_from
        self.furthest: dict[int, int] = {}

    def step(self, depth: int) -> Iterator[int]:
        """Go one edit further, and say each diagonal on which that led somewhere."""
        old, new, furthest, direction = self._old, self._new, self.furthest, self._direction
        origin, other_origin = self._origins
        size, other_size = self.size, self.other_size
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
            while x < size and y < other_size:
                if old[origin + direction * x] != new[other_origin + direction * y]:
                    break
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            yield diagonal


def _joined(old: list[int], new: list[int], edits: list[LineEdit]) -> list[LineEdit]:
    """Move lines that are only added or only removed as far down as they mean the same; join what meets."""
    joined: list[LineEdit] = []
    for index, edit in enumerate(edits):
        if joined and joined[-1].old_to == edit.old_from and joined[-1].new_to == edit.new_from:
            edit = LineEdit(joined[-1].old_from, edit.old_to, joined.pop().new_from, edit.new_to)  # noqa: PLW2901
        room = (edits[index + 1].old_from if index + 1 < len(edits) else len(old)) - edit.old_to
        down = 0
        if edit.old_from == edit.old_to:
            while down < room and new[edit.new_from + down] == new[edit.new_to + down]:
                down += 1
        elif edit.new_from == edit.new_to:
            while down < room and old[edit.old_from + down] == old[edit.old_to + down]:
                down += 1
        joined.append(LineEdit(*(at + down for at in edit)))
    return joined
