"""Text files of a session, read and written through the client where it can, otherwise on disk."""

import asyncio
from pathlib import Path
from typing import Protocol

from portico.acp import _schema as schema
from portico.acp.agent import AgentSideConnection
from portico.acp.connection import RESOURCE_NOT_FOUND
from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.secret_files import plain_name
from portico.files import real_path
from portico.files.regular import FileTooLarge, NotRegularFile
from portico.porter.workspace import Workspace, exists
from portico.rpc.messages import RpcError

READ_LIMIT = 50 * 1024 * 1024


class NoSuchFile(InvalidInput):
    """The path does not exist."""


class TextReader(Protocol):
    async def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        """Return the text of a file, or `limit` lines of it from `line`, counting from 1."""
        ...


class TextWriter(Protocol):
    async def write(self, path: Path, text: str) -> None: ...


class SessionFiles:
    """The files of a session; reading and writing may use different sources."""

    def __init__(self, reader: TextReader, writer: TextWriter) -> None:
        self.read = reader.read
        self.write = writer.write

    async def read_if_exists(self, path: Path) -> str | None:
        try:
            return await self.read(path)
        except NoSuchFile:
            return None


class ClientFiles:
    """Files through the client, including unsaved changes. The client decides what may be accessed."""

    def __init__(self, end: AgentSideConnection, session_id: str) -> None:
        self._end = end
        self._session_id = session_id

    async def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        request = schema.ReadTextFileRequest(
            session_id=self._session_id, path=str(path), line=line, limit=limit
        )
        try:
            text = await self._end.read_text_file(request)
        except RpcError as error:
            if error.code == RESOURCE_NOT_FOUND or not await asyncio.to_thread(exists, path):
                raise NoSuchFile(_missing(path, error)) from error
            raise InvalidInput(f"{path} cannot be read: {error.reason}") from error
        ignored_the_limit = limit is not None and text.count("\n") > limit
        return slice_lines(text, line, limit) if ignored_the_limit else text

    async def write(self, path: Path, text: str) -> None:
        request = schema.WriteTextFileRequest(session_id=self._session_id, path=str(path), content=text)
        try:
            await self._end.write_text_file(request)
        except RpcError as error:
            raise InvalidInput(f"{path} was not written: {error.reason}") from error


class DiskFiles:
    """Files on disk, inside the session's folders only."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def read(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        return slice_lines(await asyncio.to_thread(self._read, path), line, limit)

    async def write(self, path: Path, text: str) -> None:
        await asyncio.to_thread(self._write, path, text)

    def _read(self, path: Path) -> str:
        try:
            data = real_path.retry_on_link(
                lambda: real_path.read(self._workspace.inside(path), limit=READ_LIMIT)
            )
        except FileNotFoundError as error:
            raise NoSuchFile(f"{path} does not exist.") from error
        except (NotRegularFile, IsADirectoryError) as error:
            raise InvalidInput(f"{path} is not a regular file.") from error
        except FileTooLarge as error:
            raise InvalidInput(f"{path} is larger than 50 MB, which is too large to read as text.") from error
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8 text; it may be a binary file.") from error

    def _write(self, path: Path, text: str) -> None:
        try:
            real_path.retry_on_link(lambda: real_path.replace_content(self._writable(path), text.encode()))
        except (NotRegularFile, IsADirectoryError) as error:
            raise InvalidInput(f"{path} is not a regular file.") from error
        except OSError as error:
            raise InvalidInput(f"{path} was not written: {error.strerror}.") from error

    def _writable(self, path: Path) -> Path:
        real = self._workspace.inside(path)
        if any(plain_name(part) == ".git" for part in real.parts):
            raise PermissionDenied(f"{path} belongs to git; Porter does not write there.")
        return real


def _missing(path: Path, error: RpcError) -> str:
    """Say that a file does not exist, with the client's reason."""
    said = "" if error.code == RESOURCE_NOT_FOUND else f" The client said: {error.reason}"
    return f"{path} does not exist.{said}"


def slice_lines(text: str, line: int | None, limit: int | None) -> str:
    if line is None and limit is None:
        return text
    lines = text.splitlines(keepends=True)
    first = max(line or 1, 1) - 1
    return "".join(lines[first:] if limit is None else lines[first : first + limit])
