"""Validation of the changes in a `propose_changes` call, and their conversion to a change set.

Everything that is wrong with them is said at once, in words that the agent can act on. Nothing is written.
"""

from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated, Literal

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError
from portico.domain.secret_files import is_private
from portico.review.files.disk import Disk, DiskFile
from portico.review.files.path_rules import PathRules
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, FileContent
from portico.review.text.lines import encode_like, encoding_of

_LARGEST_BYTES = 10 * 1024 * 1024
_MOST_FILES = 2_000


class AskedChange(msgspec.Struct, frozen=True):
    """One change to one file. `new_content` is the whole file as it shall be, and is left out of a delete."""

    path: Annotated[
        str, msgspec.Meta(description="The file, relative to the workspace or absolute inside of it.")
    ]
    operation: Literal["create", "update", "delete", "rename"]
    new_content: Annotated[
        str | None,
        msgspec.Meta(
            description="The complete text of the file after the change. A rename may leave it out to keep the text."
        ),
    ] = None
    old_path: Annotated[str | None, msgspec.Meta(description="Where a renamed file is now.")] = None


class AskedChanges(msgspec.Struct, frozen=True):
    changes: Annotated[
        tuple[AskedChange, ...],
        msgspec.Meta(description="All changes that belong together, one for each file."),
    ]


class ParsedChanges(msgspec.Struct, frozen=True):
    """The changes, and what the agent should know about those that were passed over."""

    changes: ChangeSet
    warnings: tuple[str, ...] = ()


class ChangeReader:
    """Reads changes to a workspace. An agent may speak of it by the name of the folder that it works in."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        self._roots = tuple(dict.fromkeys((folder, folder.resolve(), workspace, workspace.resolve())))
        self._places = PathRules(workspace, folds_names=False)
        self._disk = Disk()

    def read(self, asked: Sequence[AskedChange]) -> ParsedChanges:
        """InvalidInput with all that is wrong, a line for each."""
        if not asked:
            raise InvalidInput("There are no changes. Give at least one, with a path and an operation.")
        if len(asked) > _MOST_FILES:
            raise InvalidInput(
                f"There are {len(asked)} changes; propose no more than {_MOST_FILES} at a time."
            )
        read: list[FileChange] = []
        wrong: list[str] = []
        warnings: list[str] = []
        for one in asked:
            try:
                change = self._change(one)
            except PorticoError as error:
                wrong.append(f"- {one.path or '(no path)'}: {error.message}")
                continue
            if change is None:
                warnings.append(f"{one.path} has this content already; it is not part of the proposal.")
            else:
                read.append(change)
        wrong += _named_twice(read)
        if wrong:
            raise InvalidInput("Nothing was proposed. Correct this and propose again:\n" + "\n".join(wrong))
        return ParsedChanges(ChangeSet(tuple(read)), tuple(warnings))

    def _change(self, asked: AskedChange) -> FileChange | None:
        path, operation = self._relative(asked.path), ChangeOperation(asked.operation)
        if (asked.old_path is not None) != (operation is ChangeOperation.RENAME):
            raise InvalidInput(
                "old_path says where a renamed file is now: a rename needs it, nothing else has it."
            )
        if operation in (ChangeOperation.CREATE, ChangeOperation.UPDATE) and asked.new_content is None:
            raise InvalidInput(f"new_content is missing: to {operation} a file, give its complete new text.")
        source = None if asked.old_path is None else self._relative(asked.old_path)
        found = self._found(source or path, may_be_missing=operation is ChangeOperation.CREATE)
        if operation is ChangeOperation.CREATE and found is not None:
            raise InvalidInput("it exists already. Read it, then use the operation update.")
        if source is not None and self._found(path, may_be_missing=True) is not None:
            raise InvalidInput(
                "a file of this name exists already; rename to another one, or delete it first."
            )
        old = b"" if found is None else found.data
        new = _new_data(asked, old)
        if operation is ChangeOperation.UPDATE and new == old:
            return None
        return FileChange(
            path=path,
            operation=operation,
            old_path=source,
            old=None if found is None else FileContent.of(old),
            new=None if new is None else FileContent.of(new),
            old_mode=None if found is None else found.mode,
            new_mode=None if found is None or new is None else found.mode,
        )

    def _relative(self, path: str) -> str:
        given = PurePath(path)
        if given.is_absolute():
            root = next((root for root in self._roots if given.is_relative_to(root)), None)
            if root is None:
                raise InvalidInput(
                    f"it is outside the workspace {self._roots[0]}; only files inside can be changed."
                )
            given = given.relative_to(root)
        return PurePosixPath(given.as_posix()).as_posix()

    def _found(self, path: str, *, may_be_missing: bool) -> DiskFile | None:
        place = self._places.file(path, leaving=())
        if is_private(PurePosixPath(path).parts) or is_private(place.relative_to(self._places.root).parts):
            raise PermissionDenied("it may hold secrets; agents neither read nor change it.")
        if place.is_dir():
            raise InvalidInput("it is a folder; name a file.")
        if not place.exists():
            if may_be_missing:
                return None
            raise InvalidInput("there is no such file. Check the path, or use the operation create.")
        if place.stat().st_size > _LARGEST_BYTES:
            raise InvalidInput(
                f"it is larger than {_LARGEST_BYTES >> 20} MB, too large to be changed this way."
            )
        try:
            return self._disk.read(place)
        except OSError as error:
            raise InvalidInput(f"it cannot be read: {error.strerror}.") from error


def _new_data(asked: AskedChange, old: bytes) -> bytes | None:
    """The new bytes in the encoding, and with the line ends, that the file has."""
    if asked.operation == "delete":
        return None
    if asked.new_content is None:
        return old
    if old and encoding_of(old) is None:
        raise InvalidInput("it is not a text file, so its content cannot be given as text.")
    new = encode_like(old, asked.new_content)
    if len(new) > _LARGEST_BYTES:
        raise InvalidInput(f"new_content is larger than {_LARGEST_BYTES >> 20} MB.")
    return new


def _named_twice(changes: Sequence[FileChange]) -> list[str]:
    named = [path for one in changes for path in (one.path, one.old_path) if path is not None]
    twice = sorted({path for path in named if named.count(path) > 1}) if len(set(named)) < len(named) else []
    return [f"- {path}: it is named by more than one change; put them together in one." for path in twice]
