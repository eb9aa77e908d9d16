"""Reads and writes text files on disk for agents, within the bounds that the guard sets.

A file is replaced as a whole or not at all. Text goes through unchanged: no newline is translated.
"""

import asyncio
import contextlib
import os
import secrets
import stat
import sys
from pathlib import Path

from portico.domain.errors import FileMissing, InvalidInput, PermissionDenied
from portico.editors.guard import Access, Guard

READ_LIMIT_BYTES = 50 * 1024 * 1024

# Absent on Windows, where files of these kinds are absent too.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class LocalFiles:
    """The files of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.guard = Guard(workspace)

    async def read_text(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """The text of a file, or of `limit` lines from `line`, which counts from one."""
        text = self.guard.check_text(path, await asyncio.to_thread(self._read, path))
        return text if line is None and limit is None else lines_of(text, line, limit)

    async def write_text(self, path: str, content: str) -> None:
        await asyncio.to_thread(self._write, path, content)

    def _read(self, path: str) -> str:
        real = self.guard.check(path, Access.READ)
        try:
            _check_kind(path, real.lstat().st_mode)
            # Should it have become a named pipe since, opening it must not wait for a writer.
            descriptor = os.open(real, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - pathlib opens no descriptors
                facts = os.fstat(descriptor)
                _check_kind(path, facts.st_mode)
                data = file.read(READ_LIMIT_BYTES + 1) if facts.st_size <= READ_LIMIT_BYTES else None
        except OSError as error:
            raise _translated(path, "read", error) from error
        if data is None or len(data) > READ_LIMIT_BYTES:
            raise InvalidInput(f"{path} is larger than 50 MB, too large to be read as text.")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{path} is not UTF-8 text (byte {error.start} is not); it may be a binary file."
            ) from error

    def _write(self, path: str, content: str) -> None:
        real = self.guard.check(path, Access.WRITE)
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"The content for {path} cannot be written as UTF-8: {error.reason}."
            ) from error
        try:
            facts = _existing(real)
            if facts is not None:
                _check_kind(path, facts.st_mode)
                if not os.access(real, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                    raise PermissionDenied(f"{path} is read-only; it was left as it was.")
            real.parent.mkdir(parents=True, exist_ok=True)
            _replace(real, data, facts)
        except OSError as error:
            raise _translated(path, "written", error) from error


def _existing(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _check_kind(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InvalidInput(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{path} is a device, pipe or socket, not a regular file.")


def _replace(path: Path, data: bytes, facts: os.stat_result | None) -> None:
    """Write beside the file and rename over it, so that no reader ever sees half of it."""
    beside = path.with_name(f".portico-{secrets.token_hex(8)}.tmp")
    mode = 0o666 if facts is None else stat.S_IMODE(facts.st_mode)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
            if facts is not None:
                _keep_owner_and_mode(descriptor, facts)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _keep_owner_and_mode(descriptor: int, facts: os.stat_result) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):  # Only the superuser may give files away.
            os.fchown(descriptor, facts.st_uid, facts.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))


def _sync_folder(folder: Path) -> None:
    """Let the rename survive a power cut, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lines_of(text: str, line: int | None, limit: int | None) -> str:
    """`limit` lines of a text from `line`, which counts from one."""
    lines = text.split("\n")
    first = max(line or 1, 1) - 1
    last = len(lines) if limit is None else min(first + max(limit, 0), len(lines))
    part = "\n".join(lines[first:last])
    return part + "\n" if first < last < len(lines) else part


def _translated(path: str, done: str, error: OSError) -> InvalidInput | PermissionDenied:
    if isinstance(error, FileNotFoundError):
        return FileMissing(f"{path} does not exist.")
    if isinstance(error, PermissionError):
        return PermissionDenied(f"{path} cannot be {done}: the system refused it ({error.strerror}).")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return InvalidInput(f"{path} cannot be {done}: a part of its path is a file, not a folder.")
    return InvalidInput(f"{path} cannot be {done}: {error.strerror}.")
