"""Intervals of a day, in minutes since midnight."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Interval:
    """From `start` up to `end`, which is not part of it."""

    start: int
    end: int

    def __post_init__(self):
        if self.end <= self.start:
            raise ValueError("an interval ends after its start")

    @property
    def minutes(self):
        return self.end - self.start

    def overlaps(self, other):
        return self.start < other.end and other.start < self.end


def clock(text):
    """Read a time such as 9:30."""
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)
