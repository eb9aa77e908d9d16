"""Diff of two versions of a file, in hunks that can be chosen one by one.

A hunk is bytes at a place: nothing about lines or encodings has to be known again to apply it.
"""

import hashlib
from enum import StrEnum
from typing import NamedTuple

import msgspec

from portico.review.text.common_lines import LineEdit, edits_between, numbered
from portico.review.text.lines import LineBreaks, common_breaks, split_lines

CONTEXT_LINES = 3
_BLOCK = 1 << 16


class SegmentKind(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Segment(msgspec.Struct, frozen=True):
    """Neighbouring lines of one kind, each with its own end."""

    kind: SegmentKind
    data: bytes
    lines: int


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """One change with context lines. Line numbers are one-based, as in a unified diff.

    `old_offset` is the byte offset of the first segment in the old content.
    """

    hunk_id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    old_offset: int
    segments: tuple[Segment, ...]

    @property
    def old(self) -> bytes:
        return b"".join(one.data for one in self.segments if one.kind is not SegmentKind.ADDED)

    @property
    def new(self) -> bytes:
        return b"".join(one.data for one in self.segments if one.kind is not SegmentKind.REMOVED)


class LineDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of two versions. Without `breaks` they cannot be compared by line, only as a whole."""

    breaks: LineBreaks | None
    hunks: tuple[Hunk, ...]
    added: int
    removed: int


class _Window(NamedTuple):
    """The lines in which two versions differ, with some context; what is around them is the same."""

    offset: int
    lines_before: int
    old: list[bytes]
    new: list[bytes]


def diff(old: bytes, new: bytes) -> LineDiff:
    """The difference, in lines as the file has them."""
    breaks = common_breaks(old, new)
    if breaks is None:
        return LineDiff(breaks=None, hunks=(), added=0, removed=0)
    return diff_lines(old, new, breaks)


def diff_lines(old: bytes, new: bytes, breaks: LineBreaks) -> LineDiff:
    """The difference, in lines with the given end."""
    window = _window(old, new, breaks)
    edits = edits_between(*numbered(window.old, window.new))
    groups: list[list[LineEdit]] = []
    for edit in edits:
        if groups and edit.old_from - groups[-1][-1].old_to <= 2 * CONTEXT_LINES:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return LineDiff(
        breaks=breaks,
        hunks=_hunks(window, groups),
        added=sum(edit.new_to - edit.new_from for edit in edits),
        removed=sum(edit.old_to - edit.old_from for edit in edits),
    )


def _hunks(window: _Window, groups: list[list[LineEdit]]) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    offset, counted = window.offset, 0
    for group in groups:
        first, last = group[0], group[-1]
        lead = min(CONTEXT_LINES, first.old_from)
        trail = min(CONTEXT_LINES, len(window.old) - last.old_to)
        old_from, old_to = first.old_from - lead, last.old_to + trail
        new_from, new_to = first.new_from - lead, last.new_to + trail
        offset += sum(map(len, window.old[counted:old_from]))
        counted = old_from
        segments = _segments(window, group, old_from, old_to)
        old_lines, new_lines = old_to - old_from, new_to - new_from
        place = (window.lines_before + old_from, window.lines_before + new_from)
        hunks.append(
            Hunk(
                hunk_id=_identity(place[0], segments),
                # An empty side is said to stand behind the line before it.
                old_start=place[0] + (1 if old_lines else 0),
                old_lines=old_lines,
                new_start=place[1] + (1 if new_lines else 0),
                new_lines=new_lines,
                old_offset=offset,
                segments=segments,
            )
        )
    return tuple(hunks)


def _segments(window: _Window, group: list[LineEdit], start: int, end: int) -> tuple[Segment, ...]:
    segments: list[Segment] = []

    def add(kind: SegmentKind, lines: list[bytes]) -> None:
        if lines:
            segments.append(Segment(kind, b"".join(lines), len(lines)))

    at = start
    for edit in group:
        add(SegmentKind.SAME, window.old[at : edit.old_from])
        add(SegmentKind.REMOVED, window.old[edit.old_from : edit.old_to])
        add(SegmentKind.ADDED, window.new[edit.new_from : edit.new_to])
        at = edit.old_to
    add(SegmentKind.SAME, window.old[at:end])
    return tuple(segments)


def _identity(place: int, segments: tuple[Segment, ...]) -> str:
    """Stable ID of a change at a position."""
    digest = hashlib.blake2b(b"%d" % place, digest_size=8)
    for segment in segments:
        digest.update(b"\0%s %d\0" % (segment.kind.encode(), len(segment.data)))
        digest.update(segment.data)
    return digest.hexdigest()


def _window(old: bytes, new: bytes, breaks: LineBreaks) -> _Window:
    end = breaks.value
    if len(end) > 1:
        return _Window(0, 0, split_lines(old, breaks), split_lines(new, breaks))
    head = _common_head(old, new)
    tail = min(_common_tail(old, new), min(len(old), len(new)) - head)
    # Both cuts move to the begin of a line, and then away from each other to leave the context in.
    start = head
    for _ in range(CONTEXT_LINES + 1):
        start = old.rfind(end, 0, max(start - 1, 0)) + 1
    stop = len(old) - tail
    for _ in range(CONTEXT_LINES + 1):
        found = old.find(end, stop)
        stop = len(old) if found < 0 else found + 1
    return _Window(
        start,
        old.count(end, 0, start),
        split_lines(old[start:stop], breaks),
        split_lines(new[start : stop + len(new) - len(old)], breaks),
    )


def _common_head(old: bytes, new: bytes) -> int:
    most, at = min(len(old), len(new)), 0
    while at < most and old[at : at + _BLOCK] == new[at : at + _BLOCK]:
        at += _BLOCK
    low, high = min(at, most), min(at + _BLOCK, most)
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if old[low:half] == new[low:half] else (low, half - 1)
    return low


def _common_tail(old: bytes, new: bytes) -> int:
    most, at = min(len(old), len(new)), 0

    def same(shorter: int, longer: int) -> bool:
        one = old[len(old) - longer : len(old) - shorter]
        return one == new[len(new) - longer : len(new) - shorter]

    while at < most and same(at, min(at + _BLOCK, most)):
        at = min(at + _BLOCK, most)
    low, high = at, min(at + _BLOCK, most)
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if same(low, half) else (low, half - 1)
    return low
