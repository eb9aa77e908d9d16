"""Base proxy that serves the file and terminal requests of an agent from its working copy.

It knows open sessions and those that are being opened. Files outside of their folders can be read through the
editor, and cannot be written.
"""

from collections.abc import Awaitable
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.connection import RESOURCE_NOT_FOUND
from portico.acp.lenient_decoder import decode
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.domain.errors import FileMissing, InvalidInput, PermissionDenied, PorticoError
from portico.domain.ids import SessionId
from portico.review.acp.working_copy_files import READ, WRITE, EditorBuffers, WorkingCopyFiles
from portico.review.driver import SessionReview
from portico.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError


class ReviewedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with both of its IDs. `files` is None if it works in the workspace itself."""

    agent_session_id: str
    session_id: SessionId
    workspace: Path
    review: SessionReview
    files: WorkingCopyFiles | None


class WorkingCopyProxy(Proxy):
    """Serves fs/* and places terminals for the sessions in `sessions`, and for `opening` ones.

    An editor that `runs_commands` does so where no sandbox of the agent's holds.
    """

    agent_methods = frozenset({READ, WRITE, "terminal/create"})

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, ReviewedSession] = {}
        self.opening: list[WorkingCopyFiles] = []
        self.buffers = EditorBuffers(self.ask_client, acp.FileSystemCapabilities())
        self.runs_commands = False

    def from_agent(self, message: Message) -> None:
        try:
            if message.method == READ:
                self._read(message, decode(message.params, acp.ReadTextFileRequest))
            elif message.method == WRITE:
                self._write(message, decode(message.params, acp.WriteTextFileRequest))
            else:
                self._run(message, decode(message.params, acp.CreateTerminalRequest))
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{message.method}: {error}"))

    def met(self, initialize: Raw) -> None:
        """Learn from `initialize` what the editor can do."""
        try:
            offered = decode(initialize, acp.InitializeRequest).client_capabilities
        except msgspec.DecodeError:
            return
        self.buffers = EditorBuffers(self.ask_client, offered.fs)
        self.runs_commands = offered.terminal

    def _read(self, message: Message, asked: acp.ReadTextFileRequest) -> None:
        files, session_id = self._files(asked.session_id, asked.path)
        path = None if files is None else files.inside(asked.path)
        if files is None or path is None:
            self.node.send_left(message)
            return

        async def read() -> acp.ReadTextFileResponse:
            return acp.ReadTextFileResponse(content=await files.read(asked, path, self.buffers, session_id))

        self.node.spawn(self._serve(message, read()), "reading a file")

    def _write(self, message: Message, asked: acp.WriteTextFileRequest) -> None:
        files, _ = self._files(asked.session_id, asked.path)
        if files is None:
            self.node.send_left(message)
            return
        path = files.inside(asked.path)

        async def write() -> acp.WriteTextFileResponse:
            if path is None:
                raise PermissionDenied(f"{asked.path} is outside of {files.folder}, and is not written.")
            await files.write(asked, path)
            return acp.WriteTextFileResponse()

        self.node.spawn(self._serve(message, write()), "writing a file")

    def _run(self, message: Message, asked: acp.CreateTerminalRequest) -> None:
        """Let the editor run the command in the working copy."""
        files, _ = self._files(asked.session_id, asked.cwd or "")
        path = None if files is None or asked.cwd is None else files.inside(asked.cwd)
        if files is None or (asked.cwd is not None and path is None):
            self.node.send_left(message)
            return
        fields = codecs.decode_json(message.params, dict[str, Raw])
        cwd = files.folder if path is None else files.folder / path
        self.node.send_left(message.with_params({**fields, "cwd": str(cwd)}))

    def _files(self, session_id: str, path: str) -> tuple[WorkingCopyFiles | None, str | None]:
        """Working copy that a request is about, and the editor's ID of that session.

        An agent may use an ID of its own, for a subagent or a session that is still being opened. Then the
        path decides, and a write that belongs to no session must not reach the person's files either.
        """
        if session_id in self.sessions:
            return self.sessions[session_id].files, session_id
        known: list[tuple[WorkingCopyFiles, str | None]] = [
            (one.files, name) for name, one in self.sessions.items() if one.files is not None
        ]
        known += [(files, None) for files in self.opening]
        for files, name in known:
            if files.inside(path) is not None:
                return files, name
        return known[0] if known else (None, None)

    async def _serve(self, message: Message, work: Awaitable[acp.Wire]) -> None:
        try:
            self.answer_agent(message, await work)
        except FileMissing as error:
            self.refuse_agent(message, RpcError(RESOURCE_NOT_FOUND, error.message))
        except (InvalidInput, PermissionDenied) as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, error.message))
        except PorticoError as error:
            self.refuse_agent(message, RpcError(INTERNAL_ERROR, error.message))
