"""Rows of a sequence diagram: forwarded messages and runs of the same notification are one row.

A proxy that inspected and forwarded a message is a mark on its arrow.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from portico.conductor.tracing.steps import TraceStep
from portico.doors.terminal.trace.frame_summary import LONGEST, chunk_text, family_key, gist, quoted

Mark = Literal["seen", "changed"]

LONG_MS = 1000
"""A pause that is worth showing."""


class DiagramRow(msgspec.Struct, frozen=True, kw_only=True):
    """One arrow along `path`, from sender to receiver. `marks` are of the first node and those in between."""

    path: tuple[str, ...]
    marks: dict[str, Mark]
    changes: dict[str, tuple[str, ...]]
    count: int
    step: TraceStep
    """The frame at the end of the path; the first one of a run."""
    at: int
    until: int
    gist: str
    steps: tuple[TraceStep, ...] = ()
    """All frames of the arrow, if requested."""


class _Hop:
    """The frames of a run between two links."""

    def __init__(self, step: TraceStep) -> None:
        self.first = step
        self.last = step
        self.count = 0
        self.changes: tuple[str, ...] | None = None
        self._text = ""

    def take(self, step: TraceStep) -> None:
        self.last = step
        self.count += 1
        self.changes = self.changes or step.changed
        if len(self._text) < LONGEST:
            self._text += chunk_text(step) or ""

    @property
    def gist(self) -> str:
        words = gist(self.first)
        opening = quoted(chunk_text(self.first) or "")
        return words.replace(opening, quoted(self._text), 1) if opening else words


class DiagramRowBuilder:
    """Turns steps into rows. With `folding`, runs of the same notification are one row."""

    def __init__(self, *, folding: bool) -> None:
        self._folding = folding
        self._key: tuple[object, ...] = ()
        self._last = 0
        self._hops: dict[tuple[str, str], _Hop] = {}
        self._steps: list[TraceStep] = []

    def take(self, step: TraceStep) -> Iterator[DiagramRow]:
        """Add a step; yields the rows that it completes."""
        key = _key(step)
        if key != self._key or not self._goes_on(step):
            yield from self.end()
        self._key = key
        hop = self._hops.setdefault((step.sender, step.receiver), _Hop(step))
        hop.take(step)
        self._last = step.at
        if not self._folding:
            self._steps.append(step)

    def end(self) -> Iterator[DiagramRow]:
        """The remaining rows."""
        hops, self._hops = self._hops, {}
        steps, self._steps = tuple(self._steps), []
        while hops:
            follows = {receiver: hop.count for (_, receiver), hop in hops.items()}
            start = next(
                (pair for pair, hop in hops.items() if follows.get(pair[0]) != hop.count), next(iter(hops))
            )
            yield _row(_path(start, hops), steps)

    def _goes_on(self, step: TraceStep) -> bool:
        """Whether a step belongs to the row: it forwards the message, or continues a run."""
        hops = list(self._hops)
        if hops and step.sender == hops[-1][1] and (step.sender, step.receiver) not in self._hops:
            return True
        return self._folding and step.kind == "notification" and step.at - self._last < LONG_MS


def _key(step: TraceStep) -> tuple[object, ...]:
    if step.kind == "notification":
        return (step.kind, step.direction, *family_key(step))
    return (step.kind, step.direction, step.method, step.id)


def _path(pair: tuple[str, str], hops: dict[tuple[str, str], _Hop]) -> list[_Hop]:
    """Remove consecutive hops with the same number of frames."""
    found = [hops.pop(pair)]
    while True:
        following = next(
            (
                other
                for other, hop in hops.items()
                if other[0] == found[-1].first.receiver and hop.count == found[0].count
            ),
            None,
        )
        if following is None:
            return found
        found.append(hops.pop(following))


def _row(hops: list[_Hop], steps: tuple[TraceStep, ...]) -> DiagramRow:
    links = (hops[0].first.sender, *(hop.first.receiver for hop in hops))
    changes = {hop.first.sender: hop.changes for hop in hops if hop.changes}
    marks: dict[str, Mark] = {link: "changed" if link in changes else "seen" for link in links[1:-1]}
    if links[0] in changes:
        marks[links[0]] = "changed"
    return DiagramRow(
        path=links,
        marks=marks,
        changes=changes,
        count=hops[0].count,
        step=hops[-1].first,
        at=hops[0].first.at,
        until=hops[-1].last.at,
        gist=hops[-1].gist,
        steps=steps,
    )
