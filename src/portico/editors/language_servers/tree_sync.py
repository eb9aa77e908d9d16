"""Keeps a server's view of a tree current: what changed on the disk, and unsaved texts of editors."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from portico.domain.errors import LanguageServerFailed, PorticoError
from portico.editors.language_servers.documents import OpenDocument
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.source_files import DELETED, TreeSnapshot, read_source
from portico.files.deadline import within_deadline
from portico.processes.tasks import cancel_and_wait
from portico.sessions.code_servers import CodeTree

_MOST_OPENED = 100
"""So many changed files are told as texts; if more change at once, the server reads the rest from the disk."""
_QUICK_SECONDS = 1.0
_REST_FACTOR = 5

Result = TypeVar("Result")


class TreeSync:
    """Tells one server what it has to know before it is asked something."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._snapshot = TreeSnapshot(server.tree, server.spec)
        self._looked_at = 0.0
        self._was_compared = True
        self.lock = asyncio.Lock()
        """Held while a change is sent, and as long as the server has a text on trial."""
        self._questions = 0
        self._no_questions = asyncio.Event()
        self._no_questions.set()
        self._trial: asyncio.Task[object] | None = None

    async def begin(self) -> None:
        """Take the first look, to which later ones are compared."""
        await within_deadline(self._snapshot.compare, seconds=60)
        self._looked_at = time.monotonic()

    @asynccontextmanager
    async def question(
        self, tree: CodeTree, path: Path | None, confirm: Callable[[], None] = lambda: None
    ) -> AsyncIterator[OpenDocument | None]:
        """Have the server know the tree as it is, and the file that is asked about. Ends a trial.

        `confirm` is called before the tree is looked at, in the same thread; what it raises is raised here.
        """
        self._questions += 1
        self._no_questions.clear()
        if self._trial is not None:
            self._trial.cancel()
        try:
            async with self.lock:
                on_disk = await self._refresh(tree, path, confirm)
                document = None if path is None else await self._tell_asked(tree, path, on_disk)
            yield document
        finally:
            self._questions -= 1
            if not self._questions:
                self._no_questions.set()

    async def try_text(
        self, tree: CodeTree, path: Path, text: str, check: Callable[[OpenDocument], Awaitable[Result]]
    ) -> Result | None:
        """Check a file with another text while nothing is asked; None if a question came up meanwhile."""
        await self._no_questions.wait()
        async with self.lock:
            current = await self._tell_asked(tree, path, await self._refresh(tree, path))
            if self._questions:
                return None
            as_it_is, on_disk = current.text, current.on_disk
            trial = asyncio.ensure_future(check(self._server.tell_text(path, text, on_disk=False)))
            self._trial = trial
            try:
                await asyncio.wait({trial})
                return None if trial.cancelled() else trial.result()
            finally:
                self._trial = None
                await cancel_and_wait(trial)
                self._server.tell_text(path, as_it_is, on_disk=on_disk)

    async def open(self, tree: CodeTree, path: Path) -> OpenDocument:
        """Have the server know a file as the session has it. Within a question, under the lock."""
        return await self._tell_asked(tree, path, await within_deadline(lambda: read_source(path)))

    async def _refresh(
        self, tree: CodeTree, path: Path | None, confirm: Callable[[], None] = lambda: None
    ) -> str | None:
        """Tell what has changed since the last question; returns the text of a file on the disk."""
        is_due = self._was_compared = self._is_due()

        def look() -> tuple[dict[Path, int], str | None]:
            confirm()
            changed = self._snapshot.compare() if is_due else {}
            return changed, None if path is None else read_source(path)

        changed, text = await within_deadline(look, seconds=60)
        if is_due:
            self._looked_at = time.monotonic()
            await self._tell(changed)
        for document in self._server.documents:
            if not document.on_disk and document.path != path:
                await self._read_again(tree, document)
        return text

    async def _tell_asked(self, tree: CodeTree, path: Path, on_disk: str | None) -> OpenDocument:
        try:
            text = await tree.read(str(path))
        except PorticoError as error:
            hint = f" {error.suggestion}" if error.suggestion else ""
            raise LanguageServerFailed(f"{error.message}{hint}") from error
        return self._server.tell_text(path, text, on_disk=on_disk == text)

    def describe_age(self) -> str:
        """A warning if the tree was not compared for the last question; empty if it was."""
        if self._was_compared:
            return ""
        seconds = time.monotonic() - self._looked_at
        return (
            f"This folder is so large that it was last compared {seconds:.0f} s ago. Changes of other files since then "
            "may be missing in the answer."
        )

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
