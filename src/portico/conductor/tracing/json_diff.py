"""A short description of the differences between two JSON texts."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs

MOST_CHANGES = 8


def json_changes(before: Raw, after: Raw) -> tuple[str, ...]:
    """The paths at which two values differ, at most `MOST_CHANGES` and then an ellipsis; none if they are equal."""
    if bytes(before) == bytes(after):
        return ()
    try:
        found = list(
            islice(_compare("", codecs.decode_json(before), codecs.decode_json(after)), MOST_CHANGES + 1)
        )
    except (msgspec.DecodeError, RecursionError):
        return ("~",)
    return (*found[:MOST_CHANGES], "…") if len(found) > MOST_CHANGES else tuple(found)


def _compare(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after)
    elif type(before) is not type(after) or before != after:
        yield f"~{path}"


def _compare_objects(path: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        inside = f"{path}.{name}" if path else name
        if name not in after:
            yield f"-{inside}"
        elif name not in before:
            yield f"+{inside}"
        else:
            yield from _compare(inside, before[name], after[name])


def _compare_lists(path: str, before: list[Any], after: list[Any]) -> Iterator[str]:
    """Compare without the common beginning and end, so that an insertion shows as one change."""
    shorter = min(len(before), len(after))
    same = next((place for place in range(shorter) if before[place] != after[place]), shorter)
    tail = next((n for n in range(shorter - same) if before[-1 - n] != after[-1 - n]), shorter - same)
    old, new = before[same : len(before) - tail], after[same : len(after) - tail]
    for place, (one, other) in enumerate(zip(old, new, strict=False), start=same):
        yield from _compare(f"{path}[{place}]", one, other)
    for place in range(same + len(new), same + len(old)):
        yield f"-{path}[{place}]"
    for place in range(same + len(old), same + len(new)):
        yield f"+{path}[{place}]"
