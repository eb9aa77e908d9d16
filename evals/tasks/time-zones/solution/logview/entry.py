"""One line of a log: a time, a level and a message."""

from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True)
class Entry:
    time: datetime
    level: str
    message: str


def read_time(text):
    """Read a time, in UTC if it has no offset."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time


def read_entry(line):
    time, level, message = line.rstrip("\n").split(" ", 2)
    return Entry(read_time(time), level, message)
