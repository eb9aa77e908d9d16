"""Proxy that serves `fs/*` and `terminal/*` from this machine, where the client does not.

It stands on the client's side of the permissions, so that what is denied never gets here, and on the agent's side of
the review, so that it works in the folder of the session: the workspace, or a working copy.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.acp import _schema as acp
from portico.acp.connection import MethodHandler
from portico.acp.lenient_decoder import decode
from portico.components.editor.terminal_output import TerminalContent
from portico.conductor.mcp_bridge.server_proxy import CancellableOperation, OperationCancelled
from portico.conductor.session_folders import SessionFoldersProxy
from portico.mcp.protocol import fields_of, raw
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INVALID_PARAMS,
    REQUEST_CANCELLED,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
)
from portico.sessions.ports import Editor, EditorProvider
from portico.sessions.requests.client_methods import client_methods

_UPDATE = "session/update"
_READ, _WRITE = "fs/read_text_file", "fs/write_text_file"
_REQUESTS: Mapping[str, type[acp.Wire]] = {
    _READ: acp.ReadTextFileRequest,
    _WRITE: acp.WriteTextFileRequest,
    "terminal/create": acp.CreateTerminalRequest,
    "terminal/output": acp.TerminalOutputRequest,
    "terminal/wait_for_exit": acp.WaitForTerminalExitRequest,
    "terminal/kill": acp.KillTerminalRequest,
    "terminal/release": acp.ReleaseTerminalRequest,
}
_TERMINAL = frozenset(method for method in _REQUESTS if method.startswith("terminal/"))


def missing_methods(editor: acp.ClientCapabilities) -> frozenset[str]:
    """The methods that an editor does not serve."""
    missing = set() if editor.terminal else set(_TERMINAL)
    if not editor.fs.read_text_file:
        missing.add(_READ)
    if not editor.fs.write_text_file:
        missing.add(_WRITE)
    return frozenset(missing)


class EditorAdapter(SessionFoldersProxy):
    """Serves `methods` with an editor of its own for each session."""

    name = "local-editor"
    client_methods = SessionFoldersProxy.client_methods | {"initialize"}
    update_kinds = ("tool_call", "tool_call_update")

    def __init__(self, methods: frozenset[str], provider: EditorProvider) -> None:
        super().__init__()
        self._methods = methods
        self._provider = provider
        self._editors: dict[str, Editor] = {}
        self._served: dict[str, dict[str, MethodHandler]] = {}
        self._running: dict[RequestId, CancellableOperation] = {}
        self._terminals = TerminalContent(self.tell_client)
        self.agent_methods = methods | {CANCEL_REQUEST}
        if methods >= _TERMINAL:
            self.agent_methods |= {_UPDATE}

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self.node.spawn(self._close_at_the_end(), "closing terminals with the chain")
            self.node.send_right(message.with_params(_enriched(message.params, self._methods)))
        else:
            super().from_client(message)

    def from_agent(self, message: Message) -> None:
        if message.method == _UPDATE:
            self.node.send_left(self._terminals.translated(message))
        elif message.method == CANCEL_REQUEST:
            operation = self._running.get(cancelled_request_id(message.params))  # type: ignore[arg-type]
            if operation is None:
                self.node.send_left(message)
            else:
                operation.cancel()
        elif not isinstance(message.id, UnsetType):
            operation = self._running[message.id] = CancellableOperation()
            self.node.spawn(self._serve(message, message.id, operation), str(message.method))

    def session_ended(self, session_id: str) -> None:
        self._served.pop(session_id, None)
        if (editor := self._editors.pop(session_id, None)) is not None:
            self.node.spawn(_close(editor), f"closing the terminals of {session_id}")

    async def _serve(self, message: Message, request_id: RequestId, operation: CancellableOperation) -> None:
        try:
            request: Any = decode(message.params, _REQUESTS[str(message.method)])
            handler = self._handlers(request.session_id)[str(message.method)]

            async def serve() -> Any:
                return await handler(request)

            self.answer_agent(message, await operation.run(serve(), str(message.method)))
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{message.method}: {error}"))
        except OperationCancelled:
            self.refuse_agent(message, RpcError(REQUEST_CANCELLED, "the request was cancelled"))
        except RpcError as error:
            self.refuse_agent(message, error)
        finally:
            del self._running[request_id]

    def _handlers(self, session_id: str) -> dict[str, MethodHandler]:
        """The methods of a session. RpcError if it is not open."""
        if session_id in self._served:
            return self._served[session_id]
        folders = self.folders.get(session_id)
        if folders is None:
            raise RpcError(INVALID_PARAMS, f"the session {session_id!r} is not open")
        folder = None if folders.copy_of is None else Path(folders.cwd)
        editor = self._editors[session_id] = self._provider.open(Path(folders.workspace), folder=folder)
        served = client_methods(editor, {}, self._terminals.listener(editor), reads_only=folders.reads_only)
        self._served[session_id] = served
        return served

    async def _close_at_the_end(self) -> None:
        """End all commands when the chain ends, which cancels this task."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            editors = list(self._editors.values())
            self._editors.clear()
            for editor in editors:
                await _close(editor)


async def _close(editor: Editor) -> None:
    if editor.terminals is not None:
        await editor.terminals.close()


def _enriched(initialize: Raw, methods: frozenset[str]) -> Raw:
    """The parameters of `initialize`, announcing the methods as well; all else keeps its bytes."""
    fields = fields_of(initialize)
    capabilities = fields_of(fields.get("clientCapabilities"))
    files = fields_of(capabilities.get("fs"))
    if _READ in methods:
        files["readTextFile"] = raw(True)
    if _WRITE in methods:
        files["writeTextFile"] = raw(True)
    capabilities["fs"] = raw(files)
    if methods >= _TERMINAL:
        capabilities["terminal"] = raw(True)
    return raw({**fields, "clientCapabilities": capabilities})
