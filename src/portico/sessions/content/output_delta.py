"""Finds the appended part of repeated tool output, so that logs do not grow quadratically.

Agents repeat the whole output with every update.
"""

from portico.domain.values import TextGrowth, TextPart, ToolPart

_WORTHWHILE = 256
"""Smallest number of repeated characters that is worth a delta."""
_DROPPED = 64
"""Largest number of characters at the end that may be replaced, such as a closing fence."""


def output_delta(before: tuple[ToolPart, ...], now: tuple[ToolPart, ...]) -> TextGrowth | None:
    """The text appended to the last text; None if the content changed in another way, or is short."""
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
    """Length of the common prefix, if it is all but the last few characters; zero otherwise."""
    kept = max(len(old) - _DROPPED, 0)
    if not new.startswith(old[:kept]):
        return 0
    while kept < min(len(old), len(new)) and old[kept] == new[kept]:
        kept += 1
    return kept
