"""Fuzzy search over file paths by initials, file name and closeness of letters."""

from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import pairwise
from pathlib import PurePosixPath

import msgspec

_SEPARATORS = "/_-. "


class PathMatch(msgspec.Struct, frozen=True, order=True):
    """A match; a lower score is better. `places` are the indices of the matched characters."""

    badness: int
    path: str
    places: tuple[int, ...] = ()


def with_folders(paths: Sequence[str]) -> list[str]:
    """The files and their folders; folders end with a slash."""
    folders = {f"{parent}/" for path in paths for parent in PurePosixPath(path).parents if parent.name}
    return [*sorted(folders), *paths]


def best_matches(paths: Iterable[str], query: str, limit: int) -> list[PathMatch]:
    """The paths that contain the query's letters in order, best first."""
    letters = [letter for letter in query.casefold().replace("\\", "/") if letter != " "]
    if not letters:
        return nsmallest(limit, (PathMatch(path.rstrip("/").count("/"), path) for path in paths))
    matches = (match for path in paths if (match := _match(path, letters)) is not None)
    return nsmallest(limit, matches)


def _match(path: str, letters: list[str]) -> PathMatch | None:
    folded = path.casefold()
    if len(folded) != len(path):
        folded = path.lower() if len(path.lower()) == len(path) else path
    name = folded.rstrip("/").rfind("/") + 1
    places = _places(folded, letters, name) or _places(folded, letters, 0)
    if places is None:
        return None
    return PathMatch(_badness(path, places, name), path, tuple(places))


def _places(text: str, letters: list[str], start: int) -> list[int] | None:
    """Index of each letter: the whole query if the path contains it, else each letter as early as possible."""
    whole = text.find("".join(letters), start)
    if whole >= 0:
        return list(range(whole, whole + len(letters)))
    places: list[int] = []
    at = start
    for letter in letters:
        found = _at_start_of_word(text, letter, at)
        if found < 0:
            found = text.find(letter, at)
        if found < 0:
            return _leftmost(text, letters, start)
        places.append(found)
        at = found + 1
    return places


def _leftmost(text: str, letters: list[str], start: int) -> list[int] | None:
    places: list[int] = []
    at = start
    for letter in letters:
        found = text.find(letter, at)
        if found < 0:
            return None
        places.append(found)
        at = found + 1
    return places


def _at_start_of_word(text: str, letter: str, start: int) -> int:
    at = text.find(letter, start)
    while at > 0 and text[at - 1] not in _SEPARATORS and at != start:
        at = text.find(letter, at + 1)
    return at


def _badness(path: str, places: list[int], name: int) -> int:
    """Gaps and long paths cost; matches at the start of words and of the file's name are better."""
    gaps = sum(1 for one, two in pairwise(places) if two != one + 1)
    inside = sum(1 for at in places if at > 0 and path[at - 1] not in _SEPARATORS and not path[at].isupper())
    before_name = sum(1 for at in places if at < name)
    return gaps * 8 + inside * 2 + before_name * 6 + (0 if places[0] == name else 4) + len(path) // 8
