"""Operations on single files by real path; a link in the path is an error.

Who reads many files keeps their `folders` open meanwhile.
"""

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from portico.files.folders import FolderCache, OpenFolder, make_folders, open_folder, split
from portico.files.regular import check_regular, read_descriptor

FilePath = str | Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_TRIES = 5
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors that mean that nothing is at a real path: a link or a file may be in the place of a folder."""
_T = TypeVar("_T")


class ReadOnlyFile(PermissionError):
    """A file that this process may not write, though it may replace it."""


def parent(path: FilePath) -> tuple[OpenFolder, str]:
    """The folder that a path is in, opened, and its name there."""
    above, name = split(path)
    return open_folder(above), name


def lstat(path: FilePath, folders: FolderCache | None = None) -> os.stat_result:
    if folders is not None:
        folder, name = folders.parent(str(path))
        return folder.lstat(name)
    folder, name = parent(path)
    with folder:
        return folder.lstat(name)


def exists(path: FilePath) -> bool:
    """Whether something is there, a link that leads nowhere included. OSError where that cannot be known."""
    return find(path) is not None


def find(path: FilePath, folders: FolderCache | None = None) -> os.stat_result | None:
    """The facts of what is there, a link included; None where there is nothing."""
    try:
        return lstat(path, folders)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise


def open_file(
    path: FilePath, flags: int = os.O_RDONLY, mode: int = 0o666, folders: FolderCache | None = None
) -> int:
    if folders is not None:
        folder, name = folders.parent(str(path))
        return folder.open(name, flags, mode)
    folder, name = parent(path)
    with folder:
        return folder.open(name, flags, mode)


def read(path: FilePath, *, limit: int) -> bytes:
    """Read a whole file. OSError for one that is larger than `limit` bytes, or that is no regular file."""
    folder, name = parent(path)
    with folder:
        check_regular(Path(path), folder.lstat(name), limit)
        descriptor = folder.open(name)
    return read_descriptor(descriptor, Path(path), limit=limit)


def read_beginning(path: FilePath, *, limit: int) -> bytes:
    """Read a file up to `limit` bytes. OSError for one that is no regular file."""
    folder, name = parent(path)
    with folder:
        check_regular(Path(path), folder.lstat(name), None)
        descriptor = folder.open(name)
    with open(descriptor, "rb") as file:
        check_regular(Path(path), os.fstat(descriptor), None)
        return file.read(limit)


def readlink(path: FilePath) -> str:
    folder, name = parent(path)
    with folder:
        return folder.readlink(name)


def symlink(target: str, path: FilePath) -> None:
    folder, name = parent(path)
    with folder:
        folder.symlink(target, name)


def unlink(path: FilePath, *, missing_ok: bool = False) -> None:
    try:
        folder, name = parent(path)
        with folder:
            folder.unlink(name)
    except FileNotFoundError:
        if not missing_ok:
            raise


def mkdir(path: FilePath, mode: int = 0o777) -> None:
    folder, name = parent(path)
    with folder:
        folder.mkdir(name, mode)


def rmdir(path: FilePath) -> None:
    folder, name = parent(path)
    with folder:
        folder.rmdir(name)


def chmod(path: FilePath, mode: int) -> None:
    folder, name = parent(path)
    with folder:
        folder.chmod(name, mode)


def rename(source: FilePath, target: FilePath) -> None:
    """Move a file to another name, in the place of what is there."""
    _with_both(source, target, OpenFolder.replace)


def link(source: FilePath, target: FilePath) -> None:
    """Give a file a second name."""
    _with_both(source, target, OpenFolder.link)


def names(path: FilePath) -> list[str]:
    """The names of what is in a folder."""
    with open_folder(path) as folder:
        return folder.names()


def sync_folder(path: FilePath) -> None:
    """Let names survive a power cut, where folders can be synced."""
    with open_folder(path) as folder:
        folder.sync()


def replace_content(path: FilePath, data: bytes) -> None:
    """Have a file hold these bytes, whole or not at all, with the rights and the owner that it has.

    It is made, with the folders above it, if it is not there. OSError if it is no regular file or is read-only.
    """
    above, name = split(path)
    with make_folders(above) as folder:
        facts = folder.lstat(name) if folder.exists(name) else None
        if facts is not None:
            check_regular(Path(path), facts, None)
            if not folder.is_writable(name):
                raise ReadOnlyFile(errno.EACCES, "it is read-only", str(path))
        beside = f".portico-{secrets.token_hex(8)}.tmp"
        descriptor = folder.open(beside, _NEW, 0o666 if facts is None else stat.S_IMODE(facts.st_mode))
        try:
            with open(descriptor, "wb") as file:
                if facts is not None:
                    _keep_owner_and_mode(descriptor, facts)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            folder.replace(beside, folder, name)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                folder.unlink(beside)
            raise
        with contextlib.suppress(OSError):
            folder.sync()


def retry_on_link(use: Callable[[], _T]) -> _T:
    """The outcome of resolving a path and using it, done again if a link was put into the path in between."""
    for _ in range(_TRIES):
        try:
            return use()
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
    return use()


def _with_both(
    source: FilePath, target: FilePath, move: Callable[[OpenFolder, str, OpenFolder, str], None]
) -> None:
    folder, name = parent(source)
    with folder:
        above, other = split(target)
        if above == folder.path:
            move(folder, name, folder, other)
        else:
            with open_folder(above) as second:
                move(folder, name, second, other)


def _keep_owner_and_mode(descriptor: int, facts: os.stat_result) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):  # Only the superuser may give files away.
            os.fchown(descriptor, facts.st_uid, facts.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))
