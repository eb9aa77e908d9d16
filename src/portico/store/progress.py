"""Record of how far the log of each session was, in a file beside the database, to detect lost events.

A database that was emptied, cut off, or replaced by an older copy is whole in itself; only something outside of it
can tell what is missing. A line is added after each commit, so the record is never ahead of the database while that
is in order. It does not wait for the disk: after a power cut it may be behind, which hides nothing but the last lines.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, assert_never

import msgspec

from portico.domain import codecs
from portico.domain.events import format_time
from portico.domain.ids import SessionId
from portico.store.connection import fetch_lenient, transaction

_COMPACT_BYTES = 256 * 1024
_LINE_BYTES = 130
_HELD = "SELECT session_id, last_seq, updated_at, hex(checksum) FROM sessions"
_CHECKSUM = """
    SELECT hex(checksum) FROM events WHERE session = (SELECT number FROM sessions WHERE session_id = ?) AND seq = ?
"""


class LogExtent(msgspec.Struct, frozen=True):
    """How far a session was: its last event, the checksum of that, and when it was written."""

    session_id: str
    seq: int
    at: int
    checksum: str


class LogLoss(msgspec.Struct, frozen=True):
    """Events that were in the log of a session and are not any more: all, the last ones, or others are in their place.

    `last_at` is when the last of them was written.
    """

    session_id: str
    what: Literal["all", "end", "replaced"]
    first: int
    last: int
    last_at: int

    def __str__(self) -> str:
        return f"session {self.session_id}: {self.words}"

    @property
    def words(self) -> str:
        count = self.last - self.first + 1
        events = "1 event" if count == 1 else f"{count} events"
        when = format_time(self.last_at)
        match self.what:
            case "all":
                return f"it is missing; it was in the log with {events} until {when}"
            case "end":
                return f"{events} missing: from event {self.first} to event {self.last} of {when}"
            case "replaced":
                return f"others are in the place of the {events} that it had until {when}"
            case _:
                assert_never(self.what)


class _ProgressLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of these: how far a session is, what it has lost, that it is deleted, or that losses so far are accepted."""

    extent: LogExtent | None = None
    loss: LogLoss | None = None
    deleted: str | None = None
    accepted: bool = False


class RecordedProgress(msgspec.Struct, frozen=True):
    """What the file says, with everything about deleted sessions left out."""

    extents: dict[str, LogExtent]
    losses: tuple[LogLoss, ...]
    size: int

    @property
    def is_long(self) -> bool:
        """Whether most of the file has been overtaken by later lines."""
        return self.size > max(_COMPACT_BYTES, _LINE_BYTES * 4 * len(self.extents))


class ProgressFile:
    """The record in one file, which several processes add to at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, extents: Iterable[LogExtent]) -> None:
        """Note how far sessions are, after the commit that brought them there, which stands if this cannot be written."""
        with contextlib.suppress(OSError):
            self._write([_ProgressLine(extent=one) for one in extents])

    def forget(self, session_id: SessionId) -> None:
        """Note that a session is deleted, inside the transaction that does so."""
        self._write([_ProgressLine(deleted=session_id)])

    def accept(self) -> None:
        """Note that the person knows what is lost by now, so that it is no longer reported."""
        self._write([_ProgressLine(accepted=True)])

    def read(self) -> RecordedProgress | None:
        """What is recorded; None if there is no record. Lines that a power cut left half written do not count."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        extents: dict[str, LogExtent] = {}
        losses: dict[tuple[str, int, int], LogLoss] = {}
        for text in data.splitlines():
            try:
                line = _LINES.decode(text)
            except msgspec.DecodeError:
                continue
            if line.extent is not None:
                extents[line.extent.session_id] = line.extent
            elif line.loss is not None:
                losses[line.loss.session_id, line.loss.first, line.loss.last] = line.loss
                if line.loss.what == "all":
                    extents.pop(line.loss.session_id, None)
            elif line.deleted is not None:
                extents.pop(line.deleted, None)
                losses = {key: one for key, one in losses.items() if key[0] != line.deleted}
            elif line.accepted:
                losses.clear()
        return RecordedProgress(extents, tuple(losses.values()), len(data))

    def reconcile(self, connection: sqlite3.Connection) -> list[LogLoss]:
        """Bring the record up to the database, and note what the database has lost since; what that is."""
        recorded = self.read()
        held = _held(connection)
        if recorded is not None and not recorded.is_long and recorded.extents == held:
            return []
        with transaction(connection):
            # Nobody commits or deletes now, but a commit that was just made may still have to be noted.
            recorded, held = self.read() or RecordedProgress({}, (), 0), _held(connection)
            found = _losses(connection, recorded, held)
            lines = [_ProgressLine(loss=one) for one in found]
            lines += [
                _ProgressLine(extent=one)
                for one in held.values()
                if recorded.extents.get(one.session_id) != one
            ]
            if recorded.is_long:
                self._replace(
                    [*(_ProgressLine(loss=one) for one in (*recorded.losses, *found)), *lines], held
                )
            else:
                self._write(lines)
        return found

    def missing(self, recorded: RecordedProgress, connection: sqlite3.Connection) -> list[LogLoss]:
        """What is lost, by what was recorded before the connection began to read."""
        found = _losses(connection, recorded, _held(connection))
        if found:
            # A session that was deleted in between is not missing.
            now = self.read() or recorded
            found = [one for one in found if one.session_id in now.extents]
        return [*recorded.losses, *found]

    def _write(self, lines: Sequence[_ProgressLine]) -> None:
        if not lines:
            return
        data = b"".join(_ENCODER.encode(line) + b"\n" for line in lines)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _replace(self, lines: Sequence[_ProgressLine], held: dict[str, LogExtent]) -> None:
        """Write the record anew, without what later lines have overtaken."""
        kept = [line for line in lines if line.extent is None]
        kept += [_ProgressLine(extent=one) for one in held.values()]
        beside = self._path.with_name(f"{self._path.name}.new")
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
            file.writelines(_ENCODER.encode(line) + b"\n" for line in kept)
            file.flush()
            os.fsync(descriptor)
        beside.replace(self._path)


_ENCODER = msgspec.json.Encoder()
_LINES = codecs.json_decoder(_ProgressLine)


def _losses(
    connection: sqlite3.Connection, recorded: RecordedProgress, held: dict[str, LogExtent]
) -> list[LogLoss]:
    """What the record has, and the database has not."""
    losses = []
    for one in recorded.extents.values():
        found = held.get(one.session_id)
        if found is None:
            losses.append(LogLoss(one.session_id, "all", 1, one.seq, one.at))
        elif found.seq < one.seq:
            losses.append(LogLoss(one.session_id, "end", found.seq + 1, one.seq, one.at))
        elif found != one and _checksum_at(connection, found, one.seq) not in ("", one.checksum):
            losses.append(LogLoss(one.session_id, "replaced", 1, one.seq, one.at))
    return losses


def _checksum_at(connection: sqlite3.Connection, found: LogExtent, seq: int) -> str:
    """The checksum that a session has at an event; none if the event is from before there were any."""
    if found.seq == seq:
        return found.checksum
    rows = fetch_lenient(connection, _CHECKSUM, (found.session_id, seq))
    return str(rows[0][0]).lower() if rows else ""


def _held(connection: sqlite3.Connection) -> dict[str, LogExtent]:
    rows = fetch_lenient(connection, _HELD, ())
    return {row[0]: LogExtent(row[0], row[1], row[2], row[3].lower()) for row in rows}
