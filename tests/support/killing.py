"""Kills a program at a chosen moment: so many bytes after its first word, so long after its start."""

import os
import random
import select
import time
from collections.abc import Callable

import msgspec

from tests.support.program import Running

# How much a turn prints depends on how its words were gathered; a silence this long is its last word.
QUIET = 2.0


class Moment(msgspec.Struct, frozen=True):
    """After so many bytes of output, or once its output says so, and then after some more seconds."""

    phase: str
    bytes_read: int = 0
    words: bytes = b""
    seconds: float = 0.0

    def __str__(self) -> str:
        when = f"after {self.words.decode()}" if self.words else f"after {self.bytes_read} bytes"
        return f"{self.phase}: {when} and {self.seconds * 1e6:.0f} µs"


class Pace(msgspec.Struct, frozen=True):
    """Duration of a whole turn on this machine, and size of its output."""

    first_byte: float
    last_byte: float
    size: int


def choose(chance: random.Random, phase: str, pace: Pace) -> Moment:
    """A moment of a phase. They overlap, since the speed of the machine is unknown."""
    match phase:
        case "starting":
            return Moment(phase, seconds=chance.uniform(0, 1.1 * pace.first_byte))
        case "beginning":
            return Moment(phase, bytes_read=1, seconds=chance.uniform(0, 0.5 * pace.last_byte))
        case "streaming":
            count = chance.randint(1, max(1, int(0.6 * pace.size)))
            return Moment(phase, bytes_read=count, seconds=chance.uniform(0, 0.02))
        case _:
            words = chance.choice([b'"type":"result"', b'"type":"done"', b"00055:"])
            return Moment(phase, words=words, seconds=chance.choice([0.0, chance.uniform(0, 0.004)]))


def watch_until(running: Running, moment: Moment) -> None:
    """Read its output until the moment has come, or it has no more to say."""
    assert running.process.stdout is not None
    descriptor = running.process.stdout.fileno()
    ended = quiet = False
    while not (ended or quiet) and (
        len(running.seen) < moment.bytes_read or moment.words not in running.seen
    ):
        seen = len(running.seen)
        ended = not _read(running, descriptor, QUIET if seen else None)
        quiet = bool(seen) and len(running.seen) == seen
    until = time.monotonic() + moment.seconds
    while not ended and (left := until - time.monotonic()) > 0:
        ended = not _read(running, descriptor, left)


def measure(start: Callable[[], Running]) -> Pace:
    """Let a turn run to its end."""
    begun = time.monotonic()
    running = start()
    watch_until(running, Moment("first", bytes_read=1))
    first = time.monotonic() - begun
    watch_until(running, Moment("last", words=b'"type":"done"'))
    last = time.monotonic() - begun
    assert running.end().code == 0
    return Pace(first, last - first, len(running.seen))


def _read(running: Running, descriptor: int, seconds: float | None) -> bool:
    """Take what is there, or wait for it. False at the end of the output."""
    if not select.select([descriptor], [], [], seconds)[0]:
        return True
    chunk = os.read(descriptor, 65536)
    running.seen += chunk
    return bool(chunk)
