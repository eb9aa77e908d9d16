"""Record of how far the log of each session was, in a file beside the database, to detect lost events.

A database that was emptied, truncated or replaced by an older copy is consistent in itself, so only an outside record
can show what is missing. A line is added after each commit, so the record is never ahead of an intact database. It
does not wait for the disk: after a power cut its last lines may be missing.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, assert_never

import msgspec

from portico.domain import codecs
from portico.domain.ids import SessionId
from portico.domain.timestamps import format_time
from portico.store.connection import fetch_lenient, transaction

_COMPACT_BYTES = 256 * 1024
_LINE_BYTES = 130
_HELD = "SELECT session_id, last_seq, updated_at, hex(checksum) FROM sessions"
_CHECKSUM = """
    SELECT hex(checksum) FROM events WHERE session = (SELECT number FROM sessions WHERE session_id = ?) AND seq = ?
"""


class LogExtent(msgspec.Struct, frozen=True):
    """Progress of a session: its last event, the checksum of that, and when it was written."""

    session_id: str
    seq: int
    at: int
    checksum: str


class LogLoss(msgspec.Struct, frozen=True):
    """Events that are missing from the log of a session: all, the last ones, or replaced ones.

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
    """A line of the record: progress of a session, a loss, a deletion, or that all losses so far are accepted."""

    extent: LogExtent | None = None
    loss: LogLoss | None = None
    deleted: str | None = None
    accepted: bool = False


class RecordedProgress(msgspec.Struct, frozen=True):
    """Contents of the record, without deleted sessions."""

    extents: dict[str, LogExtent]
    losses: tuple[LogLoss, ...]
    size: int

    @property
    def is_long(self) -> bool:
        """Whether most lines of the file are outdated by later ones."""
        return self.size > max(_COMPACT_BYTES, _LINE_BYTES * 4 * len(self.extents))


class ProgressFile:
    """The record file, to which several processes append at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, extents: Iterable[LogExtent]) -> None:
        """Record the progress of sessions after a commit. A failure to write it does not undo the commit."""
        with contextlib.suppress(OSError):
            self._write([_ProgressLine(extent=one) for one in extents])

    def forget(self, session_id: SessionId) -> None:
        """Record that a session is deleted, inside the transaction that does so."""
        self._write([_ProgressLine(deleted=session_id)])

    def accept(self) -> None:
        """Record that the losses so far are accepted, so that they are no longer reported."""
        self._write([_ProgressLine(accepted=True)])

    def read(self) -> RecordedProgress | None:
        """The contents of the record; None if there is none. Incomplete lines are ignored."""
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
        """Bring the record up to date with the database, and record and return what the database has lost."""
        recorded = self.read()
        held = _held(connection)
        if recorded is not None and not recorded.is_long and recorded.extents == held:
            return []
        with transaction(connection):
            # Nothing is committed or deleted now, but a recent commit may not be recorded yet.
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
        """Losses, compared with what was recorded before the connection began to read."""
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
        """Rewrite the record without outdated lines."""
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
    """Events that the record has and the database does not."""
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
    """The checksum of an event; None if it was written before there were checksums."""
    if found.seq == seq:
        return found.checksum
    rows = fetch_lenient(connection, _CHECKSUM, (found.session_id, seq))
    return str(rows[0][0]).lower() if rows else ""


def _held(connection: sqlite3.Connection) -> dict[str, LogExtent]:
    rows = fetch_lenient(connection, _HELD, ())
    return {row[0]: LogExtent(row[0], row[1], row[2], row[3].lower()) for row in rows}
