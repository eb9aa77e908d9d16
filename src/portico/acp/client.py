"""The client side of an ACP connection: opens sessions, sends prompts and receives updates.

Updates of a session that is still being created are held until `session/new` is answered, in
order; agents do send them early.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol, TypeVar

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.acp import extensions
from portico.acp.connection import AcpConnection, MethodHandler, Result
from portico.acp.extension_handlers import ExtensionHandlers
from portico.acp.lenient_decoder import decode
from portico.domain import codecs
from portico.rpc.connection import RpcReply
from portico.rpc.frames import Tap, Transport
from portico.rpc.messages import ConnectionLost, Fault, shorten

MAX_HELD_UPDATES = 4096

Made = TypeVar("Made", schema.NewSessionResponse, schema.ForkSessionResponse)


class UpdateListener(Protocol):
    """Receives what the agent sends. Plain functions, so that the order is kept."""

    def update(self, session_id: str, update: schema.SessionUpdate) -> None: ...

    def unknown_update(self, session_id: str, raw: Raw) -> None:
        """An update that this version does not know, or that does not fit the protocol."""
        ...

    def notified(self, method: str, params: Raw) -> None:
        """A notification other than `session/update`."""
        ...

    def fault(self, fault: Fault) -> None: ...

    async def ready(self) -> None: ...


class _Target(msgspec.Struct, rename="camel"):
    session_id: str
    update: Raw


class ClientSideConnection(AcpConnection):
    def __init__(
        self,
        transport: Transport,
        listener: UpdateListener,
        *,
        name: str,
        serve: Mapping[str, MethodHandler],
        extensions: ExtensionHandlers | None = None,
        tap: Tap | None = None,
    ) -> None:
        super().__init__(
            transport, name=name, served=schema.CLIENT_METHODS, serve=serve, tap=tap, extensions=extensions
        )
        self._listener = listener
        self._open: set[str] = set()
        self._opening = 0
        self._held: list[tuple[str, Raw]] = []

    async def initialize(self, request: schema.InitializeRequest) -> schema.InitializeResponse:
        return await self.call("initialize", request, schema.InitializeResponse)

    async def authenticate(self, request: schema.AuthenticateRequest) -> None:
        await self.call("authenticate", request, schema.AuthenticateResponse)

    async def logout(self) -> None:
        await self.call("logout", schema.LogoutRequest(), schema.LogoutResponse)

    async def new_session(
        self, request: schema.NewSessionRequest, opened: Callable[[str], None] | None = None
    ) -> schema.NewSessionResponse:
        """Open a session. `opened` is called with its id before the first of its updates."""
        return await self._begin("session/new", request, schema.NewSessionResponse, opened)

    async def fork_session(
        self, request: schema.ForkSessionRequest, opened: Callable[[str], None] | None = None
    ) -> schema.ForkSessionResponse:
        """Open a copy of a session; `opened` is called as above."""
        return await self._begin("session/fork", request, schema.ForkSessionResponse, opened)

    async def load_session(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        return await self._reopen("session/load", request, request.session_id, schema.LoadSessionResponse)

    async def resume_session(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        return await self._reopen("session/resume", request, request.session_id, schema.ResumeSessionResponse)

    async def list_sessions(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        return await self.call("session/list", request, schema.ListSessionsResponse)

    async def close_session(self, request: schema.CloseSessionRequest) -> None:
        await self.call("session/close", request, schema.CloseSessionResponse)
        self._open.discard(request.session_id)

    async def delete_session(self, request: schema.DeleteSessionRequest) -> None:
        await self.call("session/delete", request, schema.DeleteSessionResponse)
        self._open.discard(request.session_id)

    def leave(self, session_id: str) -> None:
        """Leave a session: updates for it are faults from now on."""
        self._open.discard(session_id)
        with suppress(ConnectionLost):
            self._connection.notify(extensions.SESSION_LEFT, extensions.SessionLeft(session_id=session_id))

    async def prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        return await self.call("session/prompt", request, schema.PromptResponse)

    def cancel(self, session_id: str) -> None:
        self._connection.notify("session/cancel", schema.CancelNotification(session_id=session_id))

    def stop_tool(self, session_id: str, tool_call_id: str) -> None:
        """Ask the chain to end one tool call of its own."""
        stopped = extensions.StoppedTool(session_id=session_id, tool_call_id=tool_call_id)
        self._connection.notify(extensions.STOP_TOOL, stopped)

    def write_todos(self, written: extensions.WrittenTodos) -> None:
        """Send an agent that supports it the to-do list that the person wrote."""
        self._connection.notify(extensions.TODOS, written)

    async def set_mode(self, request: schema.SetSessionModeRequest) -> None:
        await self.call("session/set_mode", request, schema.SetSessionModeResponse)

    async def set_config_option(
        self, request: schema.SetSessionConfigOptionRequest
    ) -> schema.SetSessionConfigOptionResponse:
        return await self.call("session/set_config_option", request, schema.SetSessionConfigOptionResponse)

    async def request(self, method: str, params: Raw) -> RpcReply:
        if method == "initialize":
            # It sends this back as well, so the reason becomes the answer to our own request.
            raise extensions.not_an_agent()
        return await super().request(method, params)

    def notification(self, method: str, params: Raw) -> None:
        if method != "session/update":
            self._listener.notified(method, params)
            return
        try:
            note = decode(params, schema.SessionNotification)
        except msgspec.DecodeError:
            self._strange_update(params)
            return
        if note.session_id in self._open:
            self._listener.update(note.session_id, note.update)
        else:
            self._hold(note.session_id, params)

    def fault(self, fault: Fault) -> None:
        self._listener.fault(fault)

    async def ready(self) -> None:
        await self._listener.ready()

    async def _begin(
        self, method: str, request: schema.Wire, result: type[Made], opened: Callable[[str], None] | None
    ) -> Made:
        self._opening += 1
        try:
            response = await self.call(method, request, result)
            self._open.add(response.session_id)
            if opened is not None:
                opened(response.session_id)
        finally:
            self._opening -= 1
            self._release_held()
        return response

    async def _reopen(
        self, method: str, request: schema.Wire, session_id: str, result: type[Result]
    ) -> Result:
        self._open.add(session_id)
        try:
            return await self.call(method, request, result)
        except BaseException:
            self._open.discard(session_id)
            raise

    def _strange_update(self, params: Raw) -> None:
        try:
            target = codecs.decode_json(params, _Target)
        except (msgspec.DecodeError, RecursionError) as error:
            self._fault(params, f"session/update: {error}")
            return
        if target.session_id in self._open:
            self._listener.unknown_update(target.session_id, target.update)
        else:
            self._hold(target.session_id, params)

    def _hold(self, session_id: str, params: Raw) -> None:
        if not self._opening:
            self._fault(params, f"an update for session {shorten(session_id)}, which is not open")
        elif len(self._held) >= MAX_HELD_UPDATES:
            self._fault(params, f"more than {MAX_HELD_UPDATES} updates before session/new was answered")
        else:
            self._held.append((session_id, params))

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for session_id, params in held:
            if session_id in self._open or self._opening:
                self.notification("session/update", params)
            else:
                self._fault(params, f"an update for session {shorten(session_id)}, which never opened")

    def _fault(self, params: Raw, detail: str) -> None:
        line = bytes(params)
        self._listener.fault(Fault("bad_params", detail, line[:200].decode("utf-8", "replace"), len(line)))
