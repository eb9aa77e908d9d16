"""Permission bits of the files in a snapshot, of which git keeps only the executable bit.

Most files have what the system gives to new ones, so only the others are named. A state is kept in a file by its
digest; many checkpoints share one. Which files may have changed is for `SnapshotRepository` to say.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.files.private import replace_private

_CURRENT = "permissions"
_BITS = 0o777


class FilePermissions(msgspec.Struct, frozen=True):
    """`usual` is what a new program has. `others` are the files, by their names as bytes, that have other bits."""

    usual: int
    others: dict[bytes, int]

    def of(self, path: str, *, program: bool) -> int:
        return self.others.get(os.fsencode(path), self.usual if program else self.usual & ~0o111)

    def differing(self, later: "FilePermissions") -> Iterator[tuple[str, int, int]]:
        """Files that have other bits here than later on, with both. Each is a program in both, or in neither."""
        for name in sorted(self.others.keys() | later.others.keys()):
            then, now = self.others.get(name), later.others.get(name)
            if then != now:
                path, program = os.fsdecode(name), bool(((then or 0) | (now or 0)) & stat.S_IXUSR)
                yield path, self.of(path, program=program), later.of(path, program=program)

    def followed(self, gone: Iterable[str], looked_at: Mapping[str, int]) -> "FilePermissions":
        """Updated permissions after files were removed or changed."""
        if not self.others and not looked_at:
            return self
        others = dict(self.others)
        for path in gone:
            others.pop(os.fsencode(path), None)
        for path, mode in looked_at.items():
            usual = self.usual if mode & stat.S_IXUSR else self.usual & ~0o111
            if stat.S_ISREG(mode) and mode & _BITS != usual:
                others[os.fsencode(path)] = mode & _BITS
            elif others:
                others.pop(os.fsencode(path), None)
        return self if others == self.others else FilePermissions(self.usual, others)


def first(folder: Path) -> FilePermissions:
    """Permissions for a workspace without snapshots: the system's defaults for new files."""
    probe = folder / f"{_CURRENT}.probe"
    with contextlib.suppress(FileNotFoundError):
        probe.unlink()
    os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _BITS))
    usual = stat.S_IMODE(probe.stat().st_mode)
    probe.unlink()
    return FilePermissions(usual, {})


class CurrentPermissions(msgspec.Struct, frozen=True):
    """Permissions after the last snapshot, and their name. `unsettled` files must be checked again."""

    name: str
    permissions: FilePermissions
    unsettled: tuple[str, ...]


class _Stored(msgspec.Struct, frozen=True):
    name: str
    unsettled: tuple[bytes, ...]


def current(folder: Path) -> CurrentPermissions | None:
    """Permissions after the last snapshot; None if there was none."""
    try:
        stored = codecs.decode_msgpack((folder / _CURRENT).read_bytes(), _Stored)
    except (OSError, msgspec.DecodeError):
        return None
    found = load(folder, stored.name)
    return (
        None
        if found is None
        else CurrentPermissions(stored.name, found, tuple(map(os.fsdecode, stored.unsettled)))
    )


def load(folder: Path, name: str | None) -> FilePermissions | None:
    """The state of that name; None if it was never kept, or cannot be read."""
    if name is None:
        return None
    try:
        return codecs.decode_msgpack((folder / name).read_bytes(), FilePermissions)
    except (OSError, msgspec.DecodeError):
        return None


def keep(
    folder: Path, permissions: FilePermissions, unsettled: tuple[str, ...], before: CurrentPermissions | None
) -> str:
    """Store the permissions for the next snapshot, unless they are the same as `before`; their name."""
    if before is not None and before.permissions is permissions and before.unsettled == unsettled:
        return before.name
    in_order = FilePermissions(permissions.usual, dict(sorted(permissions.others.items())))
    data = msgspec.msgpack.encode(in_order)
    name = f"{_CURRENT}-{hashlib.sha256(data).hexdigest()[:24]}"
    if not (folder / name).exists():
        replace_private(folder / name, data)
    stored = _Stored(name, tuple(map(os.fsencode, unsettled)))
    replace_private(folder / _CURRENT, msgspec.msgpack.encode(stored))
    return name


def forget_all_but(folder: Path, names: Collection[str | None]) -> None:
    """Remove the states that no checkpoint has, nor the next snapshot needs."""
    now = current(folder)
    for place in folder.glob(f"{_CURRENT}-*"):
        if place.name not in names and (now is None or place.name != now.name):
            place.unlink(missing_ok=True)
