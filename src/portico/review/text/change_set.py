"""Change sets: the proposed changes to the files of a folder, as values."""

import hashlib
import stat
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum

import msgspec

from portico.domain.errors import DeveloperMustAct, InvalidInput
from portico.review.text.diffs import Hunk, diff

LINK_MODE = stat.S_IFLNK
"""The mode of a symbolic link, whose content is where it leads. It has no permission bits."""


class ChangeOperation(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RENAME = "rename"

    @classmethod
    def between(cls, old: object, new: object) -> "ChangeOperation":
        """The operation that turns one file into another; None stands for no file."""
        if old is None:
            return cls.CREATE
        return cls.DELETE if new is None else cls.UPDATE


class FileContent(msgspec.Struct, frozen=True):
    """Content of a file: digest and size, and the bytes unless they are stored elsewhere."""

    digest: str
    size: int
    data: bytes | None = None

    @classmethod
    def of(cls, data: bytes) -> "FileContent":
        return cls(digest_of(data), len(data), data)

    def loaded(self) -> bytes:
        if self.data is None:
            raise DeveloperMustAct(f"The content {self.digest} was not loaded before its bytes were needed.")
        return self.data


class Conflict(msgspec.Struct, frozen=True):
    """Lines that both the person and the agent changed: the base, both versions, and the position.

    A side is None if it has no such file. `line` is one-based, in the person's current file.
    """

    base: bytes | None
    person: bytes | None
    agent: bytes | None
    line: int = 1


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change to one file. Paths are relative to the folder, with slashes.

    `old` is what the change was made from, and is there unless a file is created; `new` unless one is deleted.
    Modes are permission bits; None leaves them as they are, or as the system makes them. A side that is a
    symbolic link has LINK_MODE.
    """

    path: str
    operation: ChangeOperation
    old_path: str | None = None
    old: FileContent | None = None
    new: FileContent | None = None
    old_mode: int | None = None
    new_mode: int | None = None
    conflicts: tuple[Conflict, ...] = ()
    warning: str | None = None

    def __post_init__(self) -> None:
        needs = {
            ChangeOperation.CREATE: (False, True),
            ChangeOperation.UPDATE: (True, True),
            ChangeOperation.DELETE: (True, False),
            ChangeOperation.RENAME: (True, True),
        }[self.operation]
        if (self.old is not None, self.new is not None) != needs:
            raise DeveloperMustAct(
                f"A change that is to {self.operation} {self.path} lacks or has a content."
            )
        if (self.old_path is not None) != (self.operation is ChangeOperation.RENAME):
            raise DeveloperMustAct(
                f"Only a rename has a path to come from, and {self.path} does not fit that."
            )

    @property
    def links(self) -> bool:
        """Whether it is about a symbolic link, on either side: then it is taken whole, and never merged."""
        return LINK_MODE in (self.old_mode, self.new_mode)

    @property
    def new_data(self) -> bytes | None:
        """The new bytes, or None for a file that goes."""
        return None if self.new is None else self.new.loaded()


class MadeFolder(msgspec.Struct, frozen=True):
    """A folder that shall exist, with permission bits if they matter."""

    path: str
    mode: int | None = None


class ChangeSet(msgspec.Struct, frozen=True):
    """Changes that belong together: all of them are applied or none.

    Folders that files need are made without being named. `emptied` folders go if nothing is left in them.
    """

    changes: tuple[FileChange, ...] = ()
    made: tuple[MadeFolder, ...] = ()
    emptied: tuple[str, ...] = ()


def paths_of(changes: ChangeSet) -> frozenset[str]:
    """All paths that a change set creates, removes or changes."""
    return frozenset(path for one in changes.changes for path in (one.path, one.old_path) if path is not None)


def opened_no_further(old: int, new: int) -> int:
    """New mode of a file, without access for others that the old mode did not give.

    Programs that replace a file often give it the default mode without intending to.
    """
    gained = 0 if LINK_MODE in (old, new) else new & ~old & 0o666
    if not gained:
        return new
    bits = new & ~gained & 0o666
    return bits | (new & 0o111 & (bits & 0o444) >> 2)


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def with_contents(changes: ChangeSet, read: Callable[[str], bytes]) -> ChangeSet:
    """The change set with every content loaded; `read` finds bytes by their digest."""

    def load(content: FileContent | None) -> FileContent | None:
        if content is None or content.data is not None:
            return content
        return msgspec.structs.replace(content, data=read(content.digest))

    loaded = tuple(
        msgspec.structs.replace(one, old=load(one.old), new=load(one.new)) for one in changes.changes
    )
    return msgspec.structs.replace(changes, changes=loaded)


def hunks_of(change: FileChange) -> tuple[Hunk, ...]:
    """The parts of a change, with its contents, that can be chosen one by one."""
    if change.links:
        return ()
    old = b"" if change.old is None else change.old.loaded()
    return diff(old, change.new_data or b"").hunks


def apply_hunks(old: bytes, hunks: Sequence[Hunk], chosen: Collection[str]) -> bytes:
    """The old content with the chosen hunks. All of them make the new content, byte for byte."""
    unknown = set(chosen) - {hunk.hunk_id for hunk in hunks}
    if unknown:
        raise InvalidInput(
            f"The diff has no hunk {', '.join(sorted(unknown))}.",
            suggestion="Look at the proposal again: it may have changed since.",
        )
    parts: list[bytes] = []
    at = 0
    for hunk in hunks:
        if hunk.hunk_id not in chosen:
            continue
        before = hunk.old
        if hunk.old_offset < at or not old.startswith(before, hunk.old_offset):
            raise InvalidInput(
                f"The hunk at line {hunk.old_start} does not fit the file any more.",
                suggestion="Look at the proposal again: the file has changed since.",
            )
        parts += (old[at : hunk.old_offset], hunk.new)
        at = hunk.old_offset + len(before)
    return b"".join((*parts, old[at:]))
