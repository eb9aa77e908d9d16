"""Numbered text deltas, in which loss, repetition and disorder can be detected."""

from __future__ import annotations

import re

_DELTA = re.compile(r"(\d{5,}):x* ")


def stream_delta(number: int, size: int) -> str:
    """One delta, `size` characters long (at least 7): its number, filling, a space."""
    return f"{number:05d}:".ljust(size - 1, "x") + " "


def stream_text(count: int, size: int, *, first: int = 1) -> str:
    """The text of a whole stream."""
    return "".join(stream_delta(number, size) for number in range(first, first + count))


def stream_numbers(text: str) -> list[int]:
    """The numbers of the whole deltas in a text, in the order in which they stand there."""
    return [int(number) for number in _DELTA.findall(text)]
