"""Record of a working copy on disk: base entries, pending steps, and the contents of the base.

The record is replaced by one rename, and contents it speaks of are on the disk before that. A step that was
cut short is still in the record, so the next one who opens it finishes the step.
"""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from portico.domain import codecs
from portico.domain.errors import StoreFailed
from portico.domain.reviews import ReviewMode
from portico.files.private import open_private, replace_private
from portico.review.files.omitted_file import OmittedFile

NOT_HELD = -1
_FORMAT = 1
_T = TypeVar("_T")
_LITTER_BYTES = 32 * 1024 * 1024
_WAITING_BYTES = 8 * 1024 * 1024

Stamp = tuple[int, int, int, int]
"""Inode, size, and the times of the last write and the last change. Another stamp asks for another look."""


class BaseEntry(msgspec.Struct, frozen=True, array_like=True):
    """A file (or a link, whose content is where it points) as it is at the base. `place` is in the contents."""

    digest: str
    size: int
    mode: int
    link: bool = False
    place: int = NOT_HELD

    def same(self, other: "BaseEntry | None") -> bool:
        """Whether both are one file, wherever its content is kept."""
        return other is not None and (self.digest, self.mode, self.link) == (
            other.digest,
            other.mode,
            other.link,
        )


class CopyStep(msgspec.Struct, frozen=True, array_like=True):
    """Change of a path in the working copy from `seen` to `wanted`; then `base` is its base."""

    name: bytes
    seen: BaseEntry | None
    wanted: BaseEntry | None
    base: BaseEntry | None

    @property
    def path(self) -> str:
        return os.fsdecode(self.name)


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    session: str
    mode: ReviewMode
    workspace: bytes
    root: bytes
    top: bytes
    contents: str
    left_out: tuple[OmittedFile, ...]
    base: dict[bytes, BaseEntry]
    persons: dict[bytes, Stamp]
    own: dict[bytes, Stamp]
    steps: tuple[CopyStep, ...]
    start: str


class BaseContents:
    """The bytes of every file at the base, one after the other in one file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._unsynced = False
        self._end = path.stat().st_size if path.exists() else 0

    def add(self, data: bytes) -> int:
        """Offset that these bytes will have."""
        place = self._end
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._end += len(data)
        if self._waiting_bytes > _WAITING_BYTES:
            self._write(durable=False)
        return place

    def keep(self) -> None:
        """Write all added bytes durably."""
        if self._waiting or self._unsynced or not self.path.exists():
            self._write(durable=True)

    def _write(self, *, durable: bool) -> None:
        with open(open_private(self.path, os.O_WRONLY | os.O_APPEND, follows=False), "ab") as file:  # noqa: PTH123 - a descriptor
            file.writelines(self._waiting)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        self._waiting.clear()
        self._waiting_bytes = 0
        self._unsynced = not durable

    def read(self, entry: BaseEntry) -> bytes:
        if self._waiting:
            self._write(durable=False)
        with self.path.open("rb") as file:
            file.seek(entry.place)
            data = file.read(entry.size)
        if len(data) != entry.size:
            raise StoreFailed(
                "What the proposal was made from can no longer be read.",
                suggestion="Close this session and start a new one; the files of the workspace are untouched.",
            )
        return data


class WorkingCopyRecord:
    """The record of one working copy, in its folder. Change it, then `save` it."""

    def __init__(self, folder: Path, stored: _Stored) -> None:
        self.folder = folder
        self.session = stored.session
        self.mode = stored.mode
        self.workspace = Path(os.fsdecode(stored.workspace))
        self.root = Path(os.fsdecode(stored.root))
        self.top = Path(os.fsdecode(stored.top))
        self.left_out = stored.left_out
        self.start = stored.start
        self.base = {os.fsdecode(name): entry for name, entry in stored.base.items()}
        self.persons = {os.fsdecode(name): stamp for name, stamp in stored.persons.items()}
        self.own = {os.fsdecode(name): stamp for name, stamp in stored.own.items()}
        self.steps = stored.steps
        self.contents = BaseContents(folder / stored.contents)

    @classmethod
    def new(
        cls, folder: Path, session: str, mode: ReviewMode, workspace: Path, *, root: Path, top: Path
    ) -> "WorkingCopyRecord":
        stored = _Stored(
            format=_FORMAT,
            session=session,
            mode=mode,
            workspace=os.fsencode(workspace),
            root=os.fsencode(root),
            top=os.fsencode(top),
            contents="contents",
            left_out=(),
            base={},
            persons={},
            own={},
            steps=(),
            start="",
        )
        return cls(folder, stored)

    @classmethod
    def load(cls, folder: Path) -> "WorkingCopyRecord | None":
        """The record in a folder; None where a working copy was never finished, or is closed."""
        try:
            data = (folder / "record").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            stored = codecs.decode_msgpack(data, _Stored)
        except msgspec.DecodeError as error:
            raise _unreadable(folder) from error
        if stored.format != _FORMAT:
            raise _unreadable(folder)
        return cls(folder, stored)

    def save(self) -> None:
        """Replace what is on disk, contents first."""
        self.contents.keep()
        stored = _Stored(
            format=_FORMAT,
            session=self.session,
            mode=self.mode,
            workspace=os.fsencode(self.workspace),
            root=os.fsencode(self.root),
            top=os.fsencode(self.top),
            contents=self.contents.path.name,
            left_out=self.left_out,
            base=_encoded(self.base),
            persons=_encoded(self.persons),
            own=_encoded(self.own),
            steps=self.steps,
            start=self.start,
        )
        replace_private(self.folder / "record", msgspec.msgpack.encode(stored))

    def tidy(self) -> None:
        """Write the contents anew once most of them are of files that have moved on."""
        live = sum(entry.size for entry in self.base.values() if entry.place != NOT_HELD)
        old = self.contents
        if self.steps or not old.path.exists() or old.path.stat().st_size < 2 * live + _LITTER_BYTES:
            return
        number = int(old.path.name.partition("-")[2] or 0) + 1
        fresh = BaseContents(self.folder / f"contents-{number}")
        fresh.path.unlink(missing_ok=True)
        fresh = BaseContents(fresh.path)
        for path, entry in self.base.items():
            if entry.place != NOT_HELD:
                place = fresh.add(old.read(entry))
                self.base[path] = msgspec.structs.replace(entry, place=place)
        self.contents = fresh
        self.save()
        old.path.unlink(missing_ok=True)


def _encoded(values: dict[str, _T]) -> dict[bytes, _T]:
    return {os.fsencode(path): value for path, value in values.items()}


def step(path: str, seen: BaseEntry | None, wanted: BaseEntry | None, base: BaseEntry | None) -> CopyStep:
    return CopyStep(os.fsencode(path), seen, wanted, base)


def _unreadable(folder: Path) -> StoreFailed:
    return StoreFailed(
        f"The record of the session's own copy in {folder} cannot be read.",
        suggestion="Another version of Portico may have made it. Close the session, or remove that folder.",
    )
