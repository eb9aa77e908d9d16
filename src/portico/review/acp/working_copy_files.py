"""Files of a working copy as an agent reads and writes them, with unsaved text of the ACP editor taken over.

Writes go to the working copy, and reads see them. Before a file that the agent has not changed is read, the
editor is asked for unsaved text, which the working copy then takes over.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePath

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.domain.errors import PorticoError
from portico.review.text.lines import encode_like
from portico.rpc.messages import RpcError
from portico.sessions.ports import EditorFiles

READ, WRITE = "fs/read_text_file", "fs/write_text_file"

Ask = Callable[[str, acp.Wire], Awaitable[Raw]]
Adopt = Callable[[str, bytes], Awaitable[bool]]
"""Has the folder take a content of the person over at a path, unless the agent changed the file."""


class EditorBuffers:
    """The files that the editor has, saved or not, at the person's paths. What it cannot do, it does not."""

    def __init__(self, ask: Ask, offered: acp.FileSystemCapabilities) -> None:
        self._ask = ask
        self._offered = offered

    async def text(self, session_id: str | None, path: Path) -> str | None:
        if session_id is None or not self._offered.read_text_file:
            return None
        try:
            answer = await self._ask(READ, acp.ReadTextFileRequest(session_id=session_id, path=str(path)))
            return decode(answer, acp.ReadTextFileResponse).content
        except (RpcError, msgspec.DecodeError):
            return None

    async def save(self, session_id: str, path: Path, content: str) -> bool:
        """Have the editor save its text; False if it did not."""
        if not self._offered.write_text_file:
            return False
        try:
            await self._ask(
                WRITE, acp.WriteTextFileRequest(session_id=session_id, path=str(path), content=content)
            )
        except RpcError:
            return False
        return True


class WorkingCopyFiles:
    """The files of one session. `folder` is where the agent works, `workspace` what the person has."""

    def __init__(
        self, workspace: Path, folder: Path, open_files: Callable[[Path], EditorFiles], adopt: Adopt
    ) -> None:
        self._workspace = workspace
        self.folder = folder
        self._roots = tuple(dict.fromkeys((folder, _real(folder), workspace, _real(workspace))))
        self._theirs = open_files(folder)
        self._own = open_files(workspace)
        self._adopt = adopt
        # In the order asked: an agent may read right after it wrote, without waiting for an answer.
        self._turn = asyncio.Lock()

    def inside(self, path: str) -> PurePath | None:
        """A path as seen from the folder, be it in there or in the workspace; None anywhere else."""
        place = PurePath(os.path.normpath(self.folder / path))
        for root in self._roots:
            if place.is_relative_to(root):
                return place.relative_to(root)
        return None

    async def read(
        self, asked: acp.ReadTextFileRequest, path: PurePath, buffers: EditorBuffers, session_id: str | None
    ) -> str:
        """The text that was asked for. `session_id` is the editor's name for the session, once it has one."""
        async with self._turn:
            place = str(self.folder / path)
            text = await self._theirs.read_text(place)
            own = self._workspace / path
            shown = await buffers.text(session_id, own) if own.exists() else None
            if shown is not None and _plain(shown) != _plain(text):
                await self._adopt(path.as_posix(), encode_like(text.encode(), shown))
            return await self._theirs.read_text(place, line=asked.line, limit=asked.limit)

    async def write(self, asked: acp.WriteTextFileRequest, path: PurePath) -> None:
        async with self._turn:
            await self._theirs.write_text(str(self.folder / path), asked.content)

    async def unsaved(self, session_id: str, path: str, buffers: EditorBuffers) -> str | None:
        """The editor's text of a file, if it differs from the disk."""
        try:
            saved = await self._own.read_text(str(self._workspace / path))
        except PorticoError:
            return None
        shown = await buffers.text(session_id, self._workspace / path)
        return None if shown is None or _plain(shown) == _plain(saved) else shown


def _plain(text: str) -> str:
    """A text as editors have it in memory, where line ends and marks are facts beside it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))
