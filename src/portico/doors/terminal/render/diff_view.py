"""Line diff of a changed file with line numbers and a little context, bounded in cost.

Comparing two texts can take very long. Common lines at both ends are set aside first, and a middle
that is still too large is shown as removed and added.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

import msgspec

from portico.domain.values import DiffPart
from portico.doors.terminal.sanitizer import clean

_CONTEXT = 2
_COMPARABLE_LINES = 1500

Mark = Literal["+", "-", " ", "…"]


class DiffRow(msgspec.Struct, frozen=True):
    """One line of a diff with its line number; "…" stands for omitted lines."""

    mark: Mark
    line: int = 0
    text: str = ""


class DiffView(msgspec.Struct, frozen=True):
    path: str
    created: bool
    added: int
    removed: int
    rows: tuple[DiffRow, ...]


@lru_cache(maxsize=4)
def compare(part: DiffPart) -> DiffView:
    """Compare an edit line by line."""
    old, new = _lines(part.old_text or ""), _lines(part.new_text)
    rows: list[DiffRow] = []
    added = removed = 0
    for group in _groups(old, new):
        if rows:
            rows.append(DiffRow("…"))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                rows += _rows(" ", new, new_start, new_end)
                continue
            rows += _rows("-", old, old_start, old_end)
            rows += _rows("+", new, new_start, new_end)
            removed += old_end - old_start
            added += new_end - new_start
    return DiffView(part.path, part.old_text is None, added, removed, tuple(rows))


_Opcode = tuple[str, int, int, int, int]


def _groups(old: list[str], new: list[str]) -> Iterator[list[_Opcode]]:
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    start = max(0, start - _CONTEXT)
    end = max(0, end - _CONTEXT)
    old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
    if not old_middle and not new_middle:
        return
    if len(old_middle) + len(new_middle) > _COMPARABLE_LINES:
        yield [("replace", start, start + len(old_middle), start, start + len(new_middle))]
        return
    matcher = SequenceMatcher(None, old_middle, new_middle)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in group]


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common beginning of two sequences."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _rows(mark: Mark, lines: list[str], start: int, end: int) -> list[DiffRow]:
    return [DiffRow(mark, number + 1, lines[number]) for number in range(start, end)]


def _lines(text: str) -> list[str]:
    return clean(text).expandtabs(4).splitlines()
