"""Keeps a server's view of a tree current: what changed on the disk, and unsaved texts of editors."""

import asyncio
import time
from pathlib import Path

from portico.domain.errors import LanguageServerFailed, PorticoError
from portico.editors.language_servers.documents import OpenDocument
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.source_files import DELETED, TreeSnapshot, read_source
from portico.files.deadline import within_deadline
from portico.sessions.code_servers import CodeTree

_MOST_OPENED = 100
"""So many changed files are told as texts; if more change at once, the server reads the rest from the disk."""
_QUICK_SECONDS = 0.3
_REST_FACTOR = 5


class TreeSync:
    """Tells one server what it has to know before it is asked something."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._snapshot = TreeSnapshot(server.tree, server.spec)
        self._looked_at = 0.0
        self.lock = asyncio.Lock()
        """Held from the first thing that is told until the question is sent."""

    async def begin(self) -> None:
        """Take the first look, to which later ones are compared."""
        await within_deadline(self._snapshot.compare, seconds=60)
        self._looked_at = time.monotonic()

    async def refresh(self, tree: CodeTree) -> None:
        """Tell what has changed since the last question."""
        if self._is_due():
            changed = await within_deadline(self._snapshot.compare, seconds=60)
            self._looked_at = time.monotonic()
            await self._tell(changed)
        for document in self._server.documents:
            if not document.on_disk:
                await self._read_again(tree, document)

    async def open(self, tree: CodeTree, path: Path) -> OpenDocument:
        """Have the server know a file as the session has it."""
        try:
            text = await tree.read(str(path))
        except PorticoError as error:
            hint = f" {error.suggestion}" if error.suggestion else ""
            raise LanguageServerFailed(f"{error.message}{hint}") from error
        on_disk = await within_deadline(lambda: read_source(path)) == text
        return self._server.tell_text(path, text, on_disk=on_disk)

    def _is_due(self) -> bool:
        """Whether to compare the tree: always, but a huge one is given some rest in between."""
        rest = self._snapshot.seconds * _REST_FACTOR if self._snapshot.seconds > _QUICK_SECONDS else 0.0
        return time.monotonic() >= self._looked_at + rest

    async def _tell(self, changed: dict[Path, int]) -> None:
        self._server.tell_files(changed)
        opened = 0
        for path, kind in changed.items():
            known = self._server.documents.get(path)
            if kind == DELETED:
                self._server.close_text(path)
            elif known is not None or (
                opened < _MOST_OPENED and self._server.spec.language_of(path) is not None
            ):
                opened += 1
                await self._tell_from_disk(path)

    async def _tell_from_disk(self, path: Path) -> None:
        text = await within_deadline(lambda: read_source(path))
        if text is None:
            self._server.close_text(path)
        else:
            self._server.tell_text(path, text, on_disk=True)

    async def _read_again(self, tree: CodeTree, document: OpenDocument) -> None:
        try:
            text = await tree.read(str(document.path))
        except PorticoError:
            self._server.close_text(document.path)
            return
        on_disk = await within_deadline(lambda: read_source(document.path)) == text
        self._server.tell_text(document.path, text, on_disk=on_disk)
