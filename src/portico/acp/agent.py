"""The agent side of an ACP connection: serves prompts, sends updates and calls the client.

An update of a new session waits until the client has the answer to `session/new` or `session/fork`.
"""

import logging
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.acp.connection import AcpConnection, MethodHandler
from portico.acp.extension_handlers import ExtensionHandlers
from portico.acp.lenient_decoder import decode
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import REOPENING_METHODS
from portico.rpc.connection import RpcReply
from portico.rpc.frames import Tap, Transport

log = logging.getLogger(__name__)


class AgentSideConnection(AcpConnection):
    finishes = True

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        serve: Mapping[str, MethodHandler],
        on_cancel: Callable[[str], None],
        extensions: ExtensionHandlers | None = None,
        tap: Tap | None = None,
    ) -> None:
        super().__init__(
            transport, name=name, served=schema.AGENT_METHODS, serve=serve, tap=tap, extensions=extensions
        )
        self._on_cancel = on_cancel
        self._open: set[str] = set()
        self._held: dict[str, list[schema.SessionUpdate]] = {}

    def update(self, session_id: str, update: schema.SessionUpdate) -> None:
        """Send an update, in order, and never before the client knows the session."""
        if session_id not in self._open:
            self._held.setdefault(session_id, []).append(update)
            return
        self._connection.notify(
            "session/update", schema.SessionNotification(session_id=session_id, update=update)
        )

    async def request_permission(
        self, request: schema.RequestPermissionRequest
    ) -> schema.RequestPermissionResponse:
        return await self.call("session/request_permission", request, schema.RequestPermissionResponse)

    async def read_text_file(self, request: schema.ReadTextFileRequest) -> str:
        return (await self.call("fs/read_text_file", request, schema.ReadTextFileResponse)).content

    async def write_text_file(self, request: schema.WriteTextFileRequest) -> None:
        await self.call("fs/write_text_file", request, schema.WriteTextFileResponse)

    async def create_terminal(self, request: schema.CreateTerminalRequest) -> str:
        return (await self.call("terminal/create", request, schema.CreateTerminalResponse)).terminal_id

    async def terminal_output(self, request: schema.TerminalOutputRequest) -> schema.TerminalOutputResponse:
        return await self.call("terminal/output", request, schema.TerminalOutputResponse)

    async def wait_for_terminal_exit(
        self, request: schema.WaitForTerminalExitRequest
    ) -> schema.WaitForTerminalExitResponse:
        return await self.call("terminal/wait_for_exit", request, schema.WaitForTerminalExitResponse)

    async def kill_terminal(self, request: schema.KillTerminalRequest) -> None:
        await self.call("terminal/kill", request, schema.KillTerminalResponse)

    async def release_terminal(self, request: schema.ReleaseTerminalRequest) -> None:
        await self.call("terminal/release", request, schema.ReleaseTerminalResponse)

    async def request(self, method: str, params: Raw) -> RpcReply:
        if method in REOPENING_METHODS:
            session_id = read_session_id(params)
            if session_id is not None:
                self._open.add(session_id)
        reply = await super().request(method, params)
        if isinstance(reply.result, schema.NewSessionResponse | schema.ForkSessionResponse):
            session_id = reply.result.session_id
            return RpcReply(reply.result, lambda: self._release(session_id))
        return reply

    def notification(self, method: str, params: Raw) -> None:
        try:
            if method == "session/cancel":
                self._on_cancel(decode(params, schema.CancelNotification).session_id)
            else:
                self._extensions.notify(method, params)
        except msgspec.DecodeError as error:
            log.warning("%s: %s ignored: %s", self.name, method, error)

    def _release(self, session_id: str) -> None:
        self._open.add(session_id)
        for update in self._held.pop(session_id, []):
            self.update(session_id, update)
