"""One line of a log: a time, a level and a message."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Entry:
    time: datetime
    level: str
    message: str


def read_time(text):
    return datetime.fromisoformat(text)


def read_entry(line):
    time, level, message = line.rstrip("\n").split(" ", 2)
    return Entry(read_time(time), level, message)
