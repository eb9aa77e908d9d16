"""Replaces exact text in a file's content, with an explanation when it does not match."""

from collections.abc import Iterator

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.markdown import code_block

_CONTEXT = 2
_MAX_COMPARED = 5000


class TextReplacement(msgspec.Struct, frozen=True):
    old: str
    new: str


def replace_text(content: str, replacement: TextReplacement, *, everywhere: bool) -> tuple[str, int]:
    """Return the new content and the number of replacements.

    Raises InvalidInput if the old text is missing, or occurs more than once and `everywhere` is false.
    """
    old, new = replacement.old, replacement.new
    if old not in content and "\r\n" in content:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    if old not in content and old.endswith("\n") and content.endswith(old[:-1]):
        old, new = old[:-1], new.removesuffix("\n")  # The last line has no line end.
    places = list(_places(content, old))
    if not places:
        raise InvalidInput(
            "The text to replace is not in the file.", suggestion=_nearest(content, replacement.old)
        )
    if len(places) > 1 and not everywhere:
        lines = ", ".join(str(content.count("\n", 0, place) + 1) for place in places[:20])
        raise InvalidInput(
            f"The text to replace occurs in {len(places)} places, on lines {lines}.",
            suggestion="Include more of the surrounding text, or add `all` to replace every occurrence.",
        )
    return content.replace(old, new), len(places)


def _places(content: str, old: str) -> Iterator[int]:
    place = content.find(old)
    while place >= 0:
        yield place
        place = content.find(old, place + len(old))


def _nearest(content: str, old: str) -> str | None:
    """Return the lines most similar to the missing text, with their numbers."""
    from difflib import SequenceMatcher

    lines = content.splitlines()[:_MAX_COMPARED]
    wanted = [line.strip() for line in old.splitlines() if line.strip()]
    if not wanted or not lines:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[0][:200])
    best, best_line = 0.5, -1
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:200])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, best_line = matcher.ratio(), number
    if best_line < 0:
        return None
    first = max(best_line - _CONTEXT, 0)
    last = min(best_line + len(wanted) + _CONTEXT, len(lines))
    shown = "\n".join(f"{number + 1}: {lines[number]}" for number in range(first, last))
    hint = "These are the most similar lines; leading spaces count:"
    return f"{hint}\n\n{code_block(shown)}"
