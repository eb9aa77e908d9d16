"""Reads and writes text files on disk for agents, within the path guard.

A file is replaced as a whole or not at all, and newlines are not translated.
"""

import asyncio
import errno
from pathlib import Path

from portico.domain.errors import FileMissing, InvalidInput, PermissionDenied
from portico.editors.path_guard import FileAccess, PathGuard
from portico.files import real_path
from portico.files.regular import FileTooLarge, NotRegularFile

READ_LIMIT_BYTES = 50 * 1024 * 1024


class LocalFiles:
    """The files of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.guard = PathGuard(workspace)

    async def read_text(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """The text of a file, or of `limit` lines from `line`, which counts from one."""
        text = await asyncio.to_thread(self._read, path)
        return text if line is None and limit is None else lines_of(text, line, limit)

    async def write_text(self, path: str, content: str) -> None:
        await asyncio.to_thread(self._write, path, content)

    def _read(self, path: str) -> str:
        try:
            # The guard checks the path after following its links, and that file is read.
            data = real_path.retry_on_link(
                lambda: real_path.read(self.guard.check(path, FileAccess.READ), limit=READ_LIMIT_BYTES)
            )
        except OSError as error:
            raise _translated(path, "read", error) from error
        try:
            return self.guard.check_text(path, data.decode())
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{path} is not UTF-8 text (byte {error.start} is not); it may be a binary file."
            ) from error

    def _write(self, path: str, content: str) -> None:
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"The content for {path} cannot be written as UTF-8: {error.reason}."
            ) from error
        try:
            real_path.retry_on_link(
                lambda: real_path.replace_content(self.guard.check(path, FileAccess.WRITE), data)
            )
        except OSError as error:
            raise _translated(path, "written", error) from error


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
    if isinstance(error, IsADirectoryError):
        return InvalidInput(f"{path} is a folder, not a file.")
    if isinstance(error, NotRegularFile):
        return InvalidInput(f"{path} is a device, pipe or socket, not a regular file.")
    if isinstance(error, FileTooLarge):
        return InvalidInput(f"{path} is larger than 50 MB, too large to be read as text.")
    if isinstance(error, real_path.ReadOnlyFile):
        return PermissionDenied(f"{path} is read-only; it was left as it was.")
    if isinstance(error, PermissionError):
        return PermissionDenied(f"{path} cannot be {done}: the system refused it ({error.strerror}).")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return InvalidInput(f"{path} cannot be {done}: a part of its path is a file, not a folder.")
    if error.errno == errno.ELOOP:
        return PermissionDenied(
            f"{path} cannot be {done}: a folder in its path keeps being replaced by a link.",
            suggestion="Stop the program that does that, or use another path.",
        )
    return InvalidInput(f"{path} cannot be {done}: {error.strerror}.")
