"""Finds the appended part of repeated tool output, so that logs do not grow quadratically.

Agents repeat all output with every update. A log and a page that did the same would grow with its square.
"""

from portico.domain.values import TextGrowth, TextPart, ToolPart

_WORTHWHILE = 256
"""Characters that need not be said again, at least."""
_DROPPED = 64
"""Characters at the end that may be taken back, at most: a fence that closes the text, say."""


def output_delta(before: tuple[ToolPart, ...], now: tuple[ToolPart, ...]) -> TextGrowth | None:
    """How the content went on at the end of its last text; None if it changed in another way, or is short."""
    match before, now:
        case (*others, TextPart(text=old)), (*same, TextPart(text=new)) if others == same:
            return _continued(old, new)
        case _:
            return None


def _continued(old: str, new: str) -> TextGrowth | None:
    kept = len(old) if new.startswith(old) else _kept(old, new)
    taken_off = old[kept:]
    if kept < _WORTHWHILE or any(letter > "\uffff" for letter in taken_off):
        return None
    return TextGrowth(text=new[kept:], dropped=len(taken_off))


def _kept(old: str, new: str) -> int:
    """How many characters both begin with, if all but the last few do; zero otherwise."""
    kept = max(len(old) - _DROPPED, 0)
    if not new.startswith(old[:kept]):
        return 0
    while kept < min(len(old), len(new)) and old[kept] == new[kept]:
        kept += 1
    return kept
