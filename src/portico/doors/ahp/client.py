"""One connection of a client: its requests and actions, its subscriptions, and what is sent to it."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.domain import codecs
from portico.domain.errors import AgentNotFound, InvalidInput, PorticoError, SessionBusy, SessionNotFound
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.action_log import LoggedAction
from portico.doors.ahp.changeset_operations import run_operation
from portico.doors.ahp.host import AgentHost
from portico.doors.ahp.resources import read_resource
from portico.doors.ahp.uris import ROOT
from portico.doors.ahp.versions import choose_version
from portico.processes.tasks import cancel_and_wait
from portico.rpc.messages import Frame, RequestId
from portico.rpc.replay_buffer import ReplayGone
from portico.rpc.streams import StreamClosed
from portico.rpc.websocket import WebSocket

log = logging.getLogger("portico.ahp")

MOST_UNSENT = 10_000
_BATCH = 200
_RESYNC = 4001
"""Close code for a client that reads too slowly; it reconnects and gets snapshots."""


class RequestFailed(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class HostClient:
    def __init__(self, host: AgentHost, socket: WebSocket) -> None:
        self._host = host
        self._socket = socket
        self._client_id: str | None = None
        self._sent = host.actions.newest
        self._subscriptions: dict[str, int] = {}
        """Channels, and the number behind which their actions are sent."""
        self._outbox: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve the client until its socket ends."""
        self._host.actions.listeners.add(self._changed.set)
        sending = asyncio.create_task(self._send(), name="actions for an agent host client")
        try:
            while (message := await self._socket.receive()) is not None:
                if isinstance(message, str):
                    await self._take(message)
        finally:
            self._host.actions.listeners.discard(self._changed.set)
            self._host.leave_sessions(self._notify)
            for channel in list(self._subscriptions):
                self._drop(channel)
            await cancel_and_wait(sending, *self._tasks)

    async def _send(self) -> None:
        try:
            while True:
                self._changed.clear()
                while self._outbox:
                    await self._socket.send(self._outbox.popleft().decode())
                for one in self._host.actions.after(self._sent, _BATCH):
                    self._sent = one.seq
                    if self._wants(one):
                        await self._socket.send(_notification("action", Raw(one.envelope)).decode())
                if not self._outbox and self._sent == self._host.actions.newest:
                    await self._changed.wait()
        except StreamClosed:
            pass
        except ReplayGone:
            self._socket.close(_RESYNC)

    def _wants(self, one: LoggedAction) -> bool:
        if one.only_for is not None:
            return one.only_for == self._client_id
        return one.seq > self._subscriptions.get(one.channel, one.seq)

    async def _take(self, text: str) -> None:
        try:
            frame = codecs.decode_json(text, Frame)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            self._put(_failure(None, ahp.PARSE_ERROR, f"This is not a JSON-RPC message: {error}"))
            return
        if isinstance(frame.method, UnsetType):
            return
        params = Raw(b"{}") if isinstance(frame.params, UnsetType) else frame.params
        if isinstance(frame.id, UnsetType):
            await self._take_notification(frame.method, params)
        elif frame.method in _AT_ONCE:
            await self._answer(frame.id, frame.method, params)
        else:
            work = self._answer(frame.id, frame.method, params)
            task = asyncio.create_task(work, name=f"{frame.method} of an agent host client")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, request_id: RequestId, method: str, params: Raw) -> None:
        try:
            result = await self._call(method, params)
        except RequestFailed as failed:
            self._put(_failure(request_id, failed.code, str(failed), failed.data))
        except msgspec.ValidationError as error:
            self._put(_failure(request_id, ahp.INVALID_PARAMS, f"The parameters are not valid: {error}"))
        except PorticoError as error:
            message = " ".join(filter(None, (error.message, error.suggestion)))
            self._put(_failure(request_id, _code(error), message))
        except Exception:  # top level of a request: the connection continues
            log.exception("request %s failed", method)
            self._put(
                _failure(request_id, ahp.INTERNAL_ERROR, "Internal error. The server's log has the details.")
            )
        else:
            self._put(_response(request_id, result))

    async def _call(self, method: str, params: Raw) -> object:
        if method == "ping":
            return None
        call = _METHODS.get(method)
        if call is None:
            raise RequestFailed(ahp.METHOD_NOT_FOUND, f"This host does not have the method {method}.")
        if self._client_id is None and method not in ("initialize", "reconnect"):
            raise RequestFailed(ahp.INVALID_REQUEST, "The first message must be initialize or reconnect.")
        kind, run = call
        return await run(self, codecs.decode_json(params, kind))

    async def _take_notification(self, method: str, params: Raw) -> None:
        try:
            match method:
                case "unsubscribe":
                    self._drop(codecs.decode_json(params, ahp.UnsubscribeParams).channel)
                case "dispatchAction" if self._client_id is not None:
                    await self._dispatch(params)
                case _:
                    log.debug("ignored the notification %s", method)
        except msgspec.ValidationError as error:
            log.info("an action of an agent host client is not valid: %s", error)

    async def _dispatch(self, params: Raw) -> None:
        said = codecs.decode_json(params, ahp.DispatchActionParams)
        origin = ahp.ActionOrigin(client_id=self._client_id or "", client_seq=said.client_seq)
        if said.channel not in self._subscriptions or said.channel == ROOT:
            reason = (
                "The root cannot be changed." if said.channel == ROOT else "Subscribe to this channel first."
            )
            self._host.actions.append(said.channel, said.action, origin=origin, rejection=reason)
            return
        (await self._host.channel(said.channel)).dispatch(said.channel, said.action, origin)

    async def initialize(self, params: ahp.InitializeParams) -> ahp.InitializeResult:
        version = choose_version(params.protocol_versions)
        if version is None:
            data = {"supportedVersions": list(ahp.SUPPORTED_PROTOCOL_VERSIONS)}
            raise RequestFailed(
                ahp.UNSUPPORTED_PROTOCOL_VERSION, "None of the offered protocol versions is supported.", data
            )
        self._client_id = params.client_id
        info = params.client_info
        log.info("client %s connected, version %s", info.name if info else params.client_id, version)
        snapshots = [await self._snapshot(channel) for channel in params.initial_subscriptions or ()]
        return ahp.InitializeResult(
            protocol_version=version,
            server_seq=self._host.actions.newest,
            server_info=ahp.Implementation(name="portico", version=self._host.parts.version, title="Portico"),
            snapshots=snapshots,
            default_directory=self._host.parts.catalog.workspace.as_uri(),
        )

    async def reconnect(self, params: ahp.ReconnectParams) -> ahp.ReconnectResult:
        """Replay what the client has missed, or give it snapshots if that is not kept any more."""
        self._client_id = params.client_id
        seen, missing, whole = (
            params.last_seen_server_seq,
            [],
            self._host.actions.keeps(params.last_seen_server_seq),
        )
        for channel in params.subscriptions:
            if channel == ROOT:
                continue
            try:
                opened = await self._host.channel(channel)
            except SessionNotFound:
                missing.append(channel)
                continue
            if opened.state.state(channel) is None:
                missing.append(channel)
            whole = whole and opened.since <= seen
        resumed = [channel for channel in params.subscriptions if channel not in missing]
        if not whole:
            return ahp.ReconnectSnapshotResult(snapshots=[await self._snapshot(one) for one in resumed])
        now = self._host.actions.newest
        for channel in resumed:
            self._subscribe(channel, now)
        replayed = [
            codecs.decode_json(one.envelope, ahp.ActionEnvelope)
            for one in self._host.actions.after(seen)
            if one.seq <= now and one.channel in resumed and one.only_for in (None, params.client_id)
        ]
        return ahp.ReconnectReplayResult(actions=replayed, missing=missing)

    async def subscribe(self, params: ahp.SubscribeParams) -> ahp.SubscribeResult:
        return ahp.SubscribeResult(snapshot=await self._snapshot(params.channel))

    async def _snapshot(self, channel: str) -> ahp.Snapshot:
        """The state of a channel, whose later actions are sent from now on."""
        if channel == ROOT:
            state: object = await self._host.root()
        else:
            state = (await self._host.channel(channel)).state.state(channel)
            if state is None:
                raise RequestFailed(ahp.NOT_FOUND, f"There is no channel {channel}.")
        self._subscribe(channel, self._host.actions.newest)
        return ahp.Snapshot(resource=channel, state=state, from_seq=self._host.actions.newest)

    def _subscribe(self, channel: str, seq: int) -> None:
        if channel == ROOT:
            self._host.watch_sessions(self._notify)
        elif channel not in self._subscriptions:
            self._host.subscribe(self._host.session_id(channel))
        self._subscriptions[channel] = seq

    def _drop(self, channel: str) -> None:
        if self._subscriptions.pop(channel, None) is None:
            return
        if channel == ROOT:
            self._host.leave_sessions(self._notify)
            return
        self._host.unsubscribe(self._host.session_id(channel))
        opened = self._host.open_channel(channel)
        if (
            opened is not None
            and channel == opened.state.uri
            and self._client_id in opened.state.active_clients
        ):
            del opened.state.active_clients[self._client_id]
            gone = ahp.SessionActiveClientRemovedAction(client_id=self._client_id)
            self._host.actions.append(channel, gone)

    def _notify(self, method: str, params: msgspec.Struct) -> None:
        self._put(_notification(method, Raw(msgspec.json.encode(params))))

    def _put(self, message: bytes) -> None:
        self._outbox.append(message)
        if len(self._outbox) > MOST_UNSENT:
            self._socket.close(_RESYNC)
        self._changed.set()

    async def create_session(self, params: ahp.CreateSessionParams) -> object:
        try:
            await self._host.create_session(params)
        except FileExistsError as error:
            raise RequestFailed(
                ahp.SESSION_ALREADY_EXISTS, f"The session {params.channel} exists already."
            ) from error
        return None

    async def dispose_session(self, params: ahp.DisposeSessionParams) -> object:
        await self._host.dispose_session(params.channel)
        return None

    async def list_sessions(self, params: ahp.ListSessionsParams) -> object:
        return await self._host.list_sessions(params)

    async def resolve_session_config(self, params: ahp.ResolveSessionConfigParams) -> object:
        return await self._host.session_config(params)

    async def complete_session_config(self, _: ahp.SessionConfigCompletionsParams) -> object:
        return ahp.SessionConfigCompletionsResult(items=[])

    async def complete(self, _: ahp.CompletionsParams) -> object:
        return ahp.CompletionsResult(items=[])

    async def fetch_turns(self, params: ahp.FetchTurnsParams) -> object:
        """All turns are in the state already."""
        if params.cursor is not None:
            raise RequestFailed(ahp.INVALID_PARAMS, "The cursor is not known.")
        return ahp.FetchTurnsResult()

    async def read_resource(self, params: ahp.ResourceReadParams) -> object:
        return await read_resource(self._host, params)

    async def invoke_operation(self, params: ahp.InvokeChangesetOperationParams) -> object:
        return await run_operation(self._host, params)


Call = Callable[[HostClient, Any], Awaitable[object]]
_METHODS: dict[str, tuple[Any, Call]] = {
    "initialize": (ahp.InitializeParams, HostClient.initialize),
    "reconnect": (ahp.ReconnectParams, HostClient.reconnect),
    "subscribe": (ahp.SubscribeParams, HostClient.subscribe),
    "listSessions": (ahp.ListSessionsParams, HostClient.list_sessions),
    "createSession": (ahp.CreateSessionParams, HostClient.create_session),
    "disposeSession": (ahp.DisposeSessionParams, HostClient.dispose_session),
    "resolveSessionConfig": (ahp.ResolveSessionConfigParams, HostClient.resolve_session_config),
    "sessionConfigCompletions": (ahp.SessionConfigCompletionsParams, HostClient.complete_session_config),
    "completions": (ahp.CompletionsParams, HostClient.complete),
    "fetchTurns": (ahp.FetchTurnsParams, HostClient.fetch_turns),
    "resourceRead": (ahp.ResourceReadParams, HostClient.read_resource),
    "invokeChangesetOperation": (ahp.InvokeChangesetOperationParams, HostClient.invoke_operation),
}
# Answered before the next message is read, so that an action after them finds what they made.
_AT_ONCE = frozenset({"initialize", "reconnect", "subscribe", "createSession"})


def _code(error: PorticoError) -> int:
    match error:
        case SessionNotFound():
            return ahp.SESSION_NOT_FOUND
        case AgentNotFound():
            return ahp.PROVIDER_NOT_FOUND
        case SessionBusy():
            return ahp.TURN_IN_PROGRESS
        case InvalidInput():
            return ahp.INVALID_PARAMS
        case _:
            return ahp.INTERNAL_ERROR


def _notification(method: str, params: Raw) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def _response(request_id: RequestId, result: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def _failure(request_id: RequestId, code: int, message: str, data: object = None) -> bytes:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
