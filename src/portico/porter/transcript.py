"""The transcript of a session: an append-only file of JSON lines, read again after a restart.

The first line is the header of the session; each later line is one entry. A line that a killed process left
unfinished is skipped.
"""

import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.domain.errors import StoreFailed
from portico.files.private import make_private_folder
from portico.porter.models.model import Message

FOLDER = "porter"
_SUFFIX = ".jsonl"
_SESSION_ID = re.compile(r"[0-9a-z]{20}")
_HEAD = 16 * 1024
_ELSEWHERE = "Free disk space, or use another folder with --state."


class TranscriptEntry(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", rename="camel"
):
    """One line of a transcript."""


class SessionHeader(TranscriptEntry, frozen=True, kw_only=True, tag="opened"):
    """The first line of a transcript."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    created: str
    format: Literal[1] = 1


class TitleEntry(TranscriptEntry, frozen=True, kw_only=True, tag="titled"):
    title: str


class TurnStartEntry(TranscriptEntry, frozen=True, kw_only=True, tag="prompted"):
    at: str
    prompt: tuple[schema.ContentBlock, ...]


class UpdateEntry(TranscriptEntry, frozen=True, kw_only=True, tag="told"):
    """An update sent to the client, replayed when the session is loaded."""

    update: schema.SessionUpdate


class ChecklistItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item of a plan or to-do list; `active` if it is in progress."""

    text: str
    done: bool = False
    active: bool = False


class ListsEntry(TranscriptEntry, frozen=True, kw_only=True, tag="listed"):
    """The complete plan and to-do list, after a change of either."""

    plan: tuple[ChecklistItem, ...] = ()
    todos: tuple[ChecklistItem, ...] = ()


class TurnEndEntry(TranscriptEntry, frozen=True, kw_only=True, tag="answered"):
    at: str
    stop_reason: schema.StopReason


class MessageEntry(TranscriptEntry, frozen=True, kw_only=True, tag="remembered"):
    """A message of the model's history."""

    message: Message


class CompactionEntry(TranscriptEntry, frozen=True, kw_only=True, tag="condensed"):
    """A compaction: these messages replace the history so far."""

    messages: tuple[Message, ...]


class SpendingEntry(TranscriptEntry, frozen=True, kw_only=True, tag="paid"):
    """The usage of one model request; no dollars if the price is unknown."""

    tokens: int
    dollars: float | None = None


class ScenarioEntry(TranscriptEntry, frozen=True, kw_only=True, tag="chose"):
    """The scenario the user chose."""

    scenario: str


AnyEntry = (
    SessionHeader
    | TitleEntry
    | TurnStartEntry
    | UpdateEntry
    | ListsEntry
    | MessageEntry
    | CompactionEntry
    | SpendingEntry
    | ScenarioEntry
    | TurnEndEntry
)


class TranscriptSummary(msgspec.Struct, frozen=True):
    """A session in a list of sessions."""

    opened: SessionHeader
    title: str | None
    changed_ns: int

    @property
    def order(self) -> tuple[int, str]:
        return (self.changed_ns, self.opened.session_id)

    @property
    def updated(self) -> str:
        return iso_time(self.changed_ns // 1_000_000)


class TranscriptFile:
    """One transcript file. An entry is written completely when `append` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mended = False

    def create(self, opened: SessionHeader) -> None:
        self._append((opened,), os.O_CREAT | os.O_EXCL)

    def append(self, *entries: AnyEntry) -> None:
        self._append(entries, 0)

    def read(self) -> list[AnyEntry]:
        """Return all complete entries, in order."""
        try:
            return list(_entries(self._path.read_bytes()))
        except OSError as error:
            raise StoreFailed(f"Porter cannot read its transcript {self._path}: {error.strerror}.") from error

    def _append(self, entries: tuple[AnyEntry, ...], flags: int) -> None:
        lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | flags, 0o600)
            try:
                if not self._mended and _is_torn(descriptor):
                    lines = b"\n" + lines
                self._mended = True
                written = os.write(descriptor, lines)
                if written < len(lines):
                    self._mended = False
                    raise StoreFailed(
                        f"The disk is full: Porter cannot write its transcript {self._path}.",
                        suggestion=_ELSEWHERE,
                    )
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StoreFailed(
                f"Porter cannot write its transcript {self._path}: {error.strerror}.",
                suggestion=_ELSEWHERE,
            ) from error


class TranscriptStore:
    """The transcripts in a folder, of this and other processes."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def create(self, opened: SessionHeader) -> TranscriptFile:
        try:
            make_private_folder(self._folder)
        except OSError as error:
            raise StoreFailed(
                f"Porter cannot create its folder {self._folder}: {error.strerror}.", suggestion=_ELSEWHERE
            ) from error
        transcript = TranscriptFile(self._path(opened.session_id))
        transcript.create(opened)
        return transcript

    def find(self, session_id: str) -> TranscriptFile | None:
        """Return the transcript of a session; None if it does not exist."""
        if _SESSION_ID.fullmatch(session_id) is None or not self._path(session_id).is_file():
            return None
        return TranscriptFile(self._path(session_id))

    def delete(self, session_id: str) -> None:
        if _SESSION_ID.fullmatch(session_id) is not None:
            self._path(session_id).unlink(missing_ok=True)
            shutil.rmtree(self.outputs(session_id), ignore_errors=True)

    def outputs(self, session_id: str) -> Path:
        """Return the folder of a session's large outputs, which may not exist."""
        return self._folder / f"{session_id}.outputs"

    def newest_first(self) -> list[TranscriptSummary]:
        """Return all sessions, most recently changed first, reading only the beginning of each file."""
        found = [listing for path in self._folder.glob(f"*{_SUFFIX}") if (listing := _listing(path))]
        return sorted(found, key=lambda listing: listing.order, reverse=True)

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}{_SUFFIX}"


def iso_time(milliseconds: int) -> str:
    return (
        datetime.fromtimestamp(milliseconds / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def _is_torn(descriptor: int) -> bool:
    """Return whether the file ends inside a line, because its writer was killed."""
    size = os.fstat(descriptor).st_size
    if size == 0:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"


def _listing(path: Path) -> TranscriptSummary | None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    entries = list(_entries(head))
    if not entries or not isinstance(entries[0], SessionHeader) or entries[0].session_id != path.stem:
        return None
    title = next((entry.title for entry in entries if isinstance(entry, TitleEntry)), None)
    return TranscriptSummary(entries[0], title, changed)


def _entries(data: bytes) -> Iterator[AnyEntry]:
    decoder = codecs.json_decoder(AnyEntry)
    for line in data.split(b"\n"):
        try:
            if line:
                yield decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
