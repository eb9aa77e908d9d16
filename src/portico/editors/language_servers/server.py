"""A running language server in one tree: its program, its connection, and the texts it has been told."""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from portico import __version__
from portico.domain import codecs
from portico.domain.errors import LanguageServerFailed
from portico.domain.redaction import plain_line
from portico.editors.language_servers.capabilities import (
    FULL_SYNC,
    INCREMENTAL_SYNC,
    ServerCapabilities,
    client_capabilities,
)
from portico.editors.language_servers.client_methods import ClientMethods
from portico.editors.language_servers.diagnostics import PushedDiagnostics
from portico.editors.language_servers.documents import OpenDocument, OpenDocuments, path_to_uri
from portico.editors.language_servers.positions import TextLines, difference
from portico.editors.language_servers.progress import ServerProgress
from portico.editors.language_servers.specification import ServerCommand
from portico.editors.language_servers.wire import InitializeAnswer, LspWorkspaceEdit
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.processes.tasks import cancel_and_wait
from portico.rpc.connection import RpcConnection
from portico.rpc.content_frames import ContentFrames
from portico.rpc.messages import Cancellation, ConnectionLost, RpcError
from portico.rpc.streams import READ_SIZE, PipeStream

log = logging.getLogger(__name__)

START_SECONDS = 60.0
REQUEST_SECONDS = 30.0
_READY_SECONDS = 10.0
_SHUTDOWN_SECONDS = 3.0
_STOP_GRACE = 2.0
_MOST_OPEN = 200
_STDERR_BYTES = 4096
_RETRIES = 5
_RETRY_SECONDS = 0.2
# ContentModified and ServerCancelled: the server wants to be asked again.
_ASK_AGAIN = frozenset({-32801, -32802})

Tap = Callable[[str, bytes], None]


class LanguageServer:
    """Made by `start`; its owner must `end` it."""

    def __init__(self, command: ServerCommand, group: ProcessGroup, tap: Tap | None = None) -> None:
        assert group.stdin is not None
        self.name = command.spec.name
        self.spec = command.spec
        self.tree = command.tree
        self.documents = OpenDocuments(_MOST_OPEN)
        self.capabilities = ServerCapabilities({})
        self.changes = 0
        """Number of changes reported to the server."""
        self.closed_texts: dict[Path, TextLines | None] = {}
        """Texts of files that are not open, as they were read since the last change."""
        self._has_answered = False
        self._command = command
        self._group = group
        self._client = ClientMethods(command, lambda: self.capabilities)
        frames = ContentFrames(PipeStream(group.stdout, group.stdin))
        frames.tap = tap
        self._connection = RpcConnection(
            frames, self._client, name=self.name, cancellation=Cancellation("$/cancelRequest", "id")
        )
        self._stderr = bytearray()
        self._tasks = [
            asyncio.create_task(self._connection.run(), name=f"connection to {self.name}"),
            asyncio.create_task(self._read_stderr(), name=f"stderr of {self.name}"),
        ]

    @classmethod
    async def start(
        cls, command: ServerCommand, *, seconds: float = START_SECONDS, tap: Tap | None = None
    ) -> "LanguageServer":
        """Start a program and greet it. LanguageServerFailed if it does not answer."""
        try:
            group = await spawn(command.command, cwd=command.tree, environ=command.environ)
        except CannotRun as error:
            raise LanguageServerFailed(
                f"{command.spec.name} cannot be started: {error.reason}.", suggestion=error.suggestion
            ) from error
        server = cls(command, group, tap)
        try:
            async with asyncio.timeout(seconds):
                await server._initialize()
        except TimeoutError as error:
            await server.kill()
            raise LanguageServerFailed(
                f"{server.name} did not answer within {seconds:g} s of its start.{server.last_words()}"
            ) from error
        except (RpcError, ConnectionLost, msgspec.DecodeError) as error:
            await server.kill()
            raise LanguageServerFailed(f"{server.name} failed to start.{server.last_words()}") from error
        except BaseException:
            await server.kill()
            raise
        return server

    async def _initialize(self) -> None:
        uri = path_to_uri(self.tree)
        hello: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": "portico", "version": __version__},
            "rootPath": str(self.tree),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": self.tree.name}],
            "capabilities": client_capabilities(),
            "trace": "off",
        }
        if self._command.initialization:
            hello["initializationOptions"] = self._command.initialization
        answer = codecs.decode_json(await self._connection.request("initialize", hello), InitializeAnswer)
        self.capabilities = ServerCapabilities(answer.capabilities)
        self._connection.notify("initialized", {})
        if self._command.settings:
            self.notify("workspace/didChangeConfiguration", {"settings": self._command.settings})

    @property
    def pid(self) -> int:
        return self._group.pid

    @property
    def running(self) -> bool:
        return self._group.running and not self._tasks[0].done()

    @property
    def progress(self) -> ServerProgress:
        return self._client.progress

    @property
    def pushed(self) -> PushedDiagnostics:
        return self._client.pushed

    async def become_ready(self) -> None:
        """Wait, for some seconds, until the server knows all files of the project."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._client.knows_project.wait()

    def last_words(self) -> str:
        """The end of its error output, as a sentence to add to a message."""
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        return f" Its last words: {plain_line(lines[-1], 300)}" if lines else ""

    async def request(self, method: str, params: Any, *, limit: float | None = None) -> Raw:
        """Ask the server. LanguageServerFailed if it refuses, is silent or is gone."""
        # Many read the project before they answer for the first time.
        usual = REQUEST_SECONDS if self._has_answered else START_SECONDS
        seconds = usual if limit is None else limit
        try:
            async with asyncio.timeout(seconds):
                answer = await self._request(method, params)
            self._has_answered = True
            return answer
        except TimeoutError as error:
            doing = self.progress.describe()
            still = f" It is still {doing}. Ask again later." if doing else ""
            raise LanguageServerFailed(f"{self.name} did not answer within {seconds:g} s.{still}") from error
        except RpcError as error:
            raise LanguageServerFailed(f"{self.name} cannot answer this: {error.reason}") from error
        except ConnectionLost as error:
            raise LanguageServerFailed(f"{self.name} has ended.{self.last_words()}") from error

    async def _request(self, method: str, params: Any) -> Raw:
        for _ in range(_RETRIES):
            try:
                return await self._connection.request(method, params)
            except RpcError as error:
                if error.code not in _ASK_AGAIN:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)
        return await self._connection.request(method, params)

    def notify(self, method: str, params: Any) -> None:
        with suppress(ConnectionLost):
            self._connection.notify(method, params)

    def tell_text(self, path: Path, text: str, *, on_disk: bool) -> OpenDocument:
        """Have the server know the text of a file; its version grows if that is news."""
        document = self.documents.get(path)
        if document is None:
            return self._open(path, text, on_disk=on_disk)
        document.on_disk = on_disk
        if document.text != text:
            self._change(document, text)
        return document

    def touch(self, document: OpenDocument) -> None:
        """Tell a text again under a new version, so that what the server pushes next is about this moment."""
        self._change(document, document.text)

    def _open(self, path: Path, text: str, *, on_disk: bool) -> OpenDocument:
        language = self.spec.language_of(path) or "plaintext"
        document = OpenDocument(path, language, text, on_disk=on_disk)
        for surplus in self.documents.add(document):
            self._close(surplus)
        item = {"uri": document.uri, "languageId": language, "version": document.version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        self._told(document, news=not on_disk)
        return document

    def _change(self, document: OpenDocument, text: str) -> None:
        sync, same = self.capabilities.sync, document.text == text
        change: dict[str, Any] = {"text": text}
        if sync == INCREMENTAL_SYNC and not same:
            changed, replacement = difference(document.text, text, self.capabilities.encoding)
            change = {"range": changed, "text": replacement}
        document.change(text)
        if sync in (FULL_SYNC, INCREMENTAL_SYNC):
            named = {"uri": document.uri, "version": document.version}
            self.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})
        if document.on_disk and not same and self.capabilities.wants_saves:
            self.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})
        self._told(document, news=not same)

    def _told(self, document: OpenDocument, *, news: bool) -> None:
        if news:
            self._note_change()
        document.told_at = self.changes
        document.pushes_before = self.pushed.count

    def _note_change(self) -> None:
        self.changes += 1
        self.closed_texts = {}

    def close_text(self, path: Path) -> None:
        """Have the server read a file from the disk again."""
        if (document := self.documents.remove(path)) is not None:
            self._close(document)

    def _close(self, document: OpenDocument) -> None:
        if not document.on_disk:
            self._note_change()
        self.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def tell_files(self, changed: Mapping[Path, int]) -> None:
        """Tell which files were created (1), changed (2) or deleted (3) on the disk."""
        if not changed:
            return
        self._note_change()
        events = [{"uri": path_to_uri(path), "type": kind} for path, kind in changed.items()]
        self.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def take_edits(self) -> list[LspWorkspaceEdit]:
        """Edits that the server asked to apply since the last call."""
        return self._client.take_edits()

    async def end(self) -> None:
        """Ask it to shut down, and end it with everything it started."""
        with suppress(TimeoutError, RpcError, ConnectionLost):
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                await self._connection.request("shutdown", UNSET)
                self._connection.notify("exit", UNSET)
                await self._group.wait()
        await self._group.stop(_STOP_GRACE)
        await cancel_and_wait(*self._tasks)
        await self._clean_up()

    async def kill(self) -> None:
        await self._group.stop(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_GRACE):
                await asyncio.shield(self._tasks[1])
        await cancel_and_wait(*self._tasks)
        await self._clean_up()

    async def _clean_up(self) -> None:
        if self._command.data is not None:
            await asyncio.to_thread(shutil.rmtree, self._command.data, ignore_errors=True)

    async def _read_stderr(self) -> None:
        assert self._group.stderr is not None
        while data := await self._group.stderr.read(READ_SIZE):
            self._stderr += data
            del self._stderr[:-_STDERR_BYTES]
