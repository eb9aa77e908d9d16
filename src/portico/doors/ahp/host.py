"""The agent host: its root, its sessions as channels, and the commands of clients."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from weakref import WeakValueDictionary

import msgspec

from portico.domain.errors import InvalidInput, SessionNotFound
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.action_log import ActionLog
from portico.doors.ahp.host_parts import HostParts
from portico.doors.ahp.session_channel import SessionChannel
from portico.doors.ahp.session_projection import SessionProjection, to_summary
from portico.doors.ahp.uris import ROOT, channel_name, file_path, session_name, session_uri
from portico.files.deadline import within_deadline
from portico.files.workspace import resolve_workspace
from portico.processes.tasks import cancel_and_wait
from portico.sessions.session_list import MOST_WATCHED, RemovedSession, SessionList, SessionListEntry

log = logging.getLogger("portico.ahp")

KEEP_SECONDS = 300.0
"""Time for which a session is followed after its last subscriber has left."""
_LIST_PAGE = 100
DEFAULT_MODEL = "default"
"""The model that an agent chooses by itself; editors want at least one. Others are known once an agent runs."""
MODE_OPTION = "reviewMode"
MODES: tuple[ReviewMode, ...] = ("direct", "proposal", "branch", "worktree")

Notify = Callable[[str, msgspec.Struct], None]
"""Sends a notification to a client that is subscribed to the root."""


class AgentHost:
    """All clients share it. Sessions are followed from the first subscription on."""

    def __init__(self, parts: HostParts, keep: float = KEEP_SECONDS) -> None:
        self.parts = parts
        self.actions = ActionLog()
        self._keep = keep
        self._list = SessionList(parts.service, parts.store, parts.clock)
        self._channels: dict[SessionId, SessionChannel] = {}
        self._opening: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._subscribers: dict[SessionId, int] = {}
        self._expiry: dict[SessionId, asyncio.TimerHandle] = {}
        self._names: dict[str, SessionId] = {}
        self._uris: dict[SessionId, str] = {}
        """Addresses that clients chose."""
        self._watchers: set[Notify] = set()
        self._watching: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        if self._watching is not None:
            await cancel_and_wait(self._watching)
        for timer in self._expiry.values():
            timer.cancel()
        for channel in list(self._channels.values()):
            await channel.close()
        if self._closing:
            await asyncio.wait(self._closing)

    def watch_sessions(self, notify: Notify) -> None:
        """Tell a client of new, changed and removed sessions."""
        self._watchers.add(notify)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(
                self._watch_sessions(), name="sessions for agent host clients"
            )

    def leave_sessions(self, notify: Notify) -> None:
        self._watchers.discard(notify)
        if not self._watchers and self._watching is not None:
            self._watching.cancel()

    async def root(self) -> ahp.RootState:
        """The agents that are installed, the default first."""
        found = await self.parts.catalog.agents(self.parts.catalog.workspace)
        installed = sorted((one for one in found if one.installed), key=lambda one: not one.default)
        return ahp.RootState(
            agents=[
                ahp.AgentInfo(
                    provider=one.name,
                    display_name=one.name.capitalize(),
                    description=f"{one.name.capitalize()}, through Portico",
                    models=[
                        ahp.SessionModelInfo(id=DEFAULT_MODEL, provider=one.name, name="Agent's default")
                    ],
                )
                for one in installed
            ],
            active_sessions=len(await self.parts.store.active_sessions()),
        )

    async def channel(self, uri: str) -> SessionChannel:
        """The session of a channel, followed from now on. SessionNotFound if there is none."""
        session_id = self.session_id(uri)
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            found = self._channels.get(session_id)
            if found is not None and found.ended.is_set():
                await found.close()
                found = None
            if found is None:
                summary = await self.parts.service.show(session_id)
                state = SessionProjection(self._name(session_id), self._uri(summary))
                found = SessionChannel(session_id, state, self.parts, self.actions)
                await found.open()
                self._channels[session_id] = found
                self._schedule_end(session_id)
            return found

    def open_channel(self, uri: str) -> SessionChannel | None:
        """The session of a channel, if it is followed now."""
        found = self._channels.get(self.session_id(uri))
        return None if found is None or found.ended.is_set() else found

    def session_id(self, uri: str) -> SessionId:
        name = channel_name(uri)
        if not name:
            raise SessionNotFound(f"{uri} is not the address of a session.")
        return self._names.get(name, SessionId(name))

    def subscribe(self, session_id: SessionId) -> None:
        self._subscribers[session_id] = self._subscribers.get(session_id, 0) + 1
        if (timer := self._expiry.pop(session_id, None)) is not None:
            timer.cancel()

    def unsubscribe(self, session_id: SessionId) -> None:
        left = self._subscribers.get(session_id, 0) - 1
        if left > 0:
            self._subscribers[session_id] = left
        else:
            self._subscribers.pop(session_id, None)
            self._schedule_end(session_id)

    async def list_sessions(self, params: ahp.ListSessionsParams) -> ahp.ListSessionsResult:
        size = min(params.limit or _LIST_PAGE, _LIST_PAGE)
        before = SessionId(params.cursor) if params.cursor else None
        if before is not None and await self.parts.store.summary(before) is None:
            raise InvalidInput("The cursor is not known.")
        found = await self._list.page(workspace=None, search="", before=before, limit=size + 1)
        items = [self._entry(one) for one in found[:size]]
        more = found[size - 1].summary.session_id if len(found) > size else None
        return ahp.ListSessionsResult(items=items, next_cursor=more)

    async def create_session(self, params: ahp.CreateSessionParams) -> None:
        """Start a session under the name that the client chose."""
        name = session_name(params.channel)
        if not name:
            raise InvalidInput(f"{params.channel} is not the address of a session.")
        if name in self._names or await self.parts.store.summary(SessionId(name)) is not None:
            raise FileExistsError(name)
        folders = params.working_directories or []
        workspace = file_path(folders[0]) if folders else self.parts.catalog.workspace
        if workspace is None:
            raise InvalidInput(f"{folders[0]} is not a folder of this machine.")
        await within_deadline(lambda: resolve_workspace(workspace))
        spec = await self.parts.catalog.agent(params.provider or "", workspace)
        mode = _read_mode(params.config) or await self.parts.catalog.mode(workspace)
        session_id = await self.parts.service.start(workspace, spec, mode=mode)
        self._names[name], self._uris[session_id] = session_id, params.channel
        channel = await self.channel(params.channel)
        if params.active_client is not None:
            channel.state.active_clients[params.active_client.client_id] = params.active_client
        self.parts.turn_queue.start_agent_ahead(session_id)
        summary = await self.parts.service.show(session_id)
        self._notify(
            "root/sessionAdded",
            ahp.SessionAddedParams(
                channel=ROOT, summary=to_summary(name, params.channel, summary, channel.state.turns.status)
            ),
        )

    async def dispose_session(self, uri: str) -> None:
        """Delete a session. InvalidInput while it has open proposals."""
        session_id = self.session_id(uri)
        await self.parts.turn_queue.delete(session_id)
        if (channel := self._channels.pop(session_id, None)) is not None:
            await channel.close()
        self._notify("root/sessionRemoved", ahp.SessionRemovedParams(channel=ROOT, session=uri))

    async def session_config(self, params: ahp.ResolveSessionConfigParams) -> ahp.ResolveSessionConfigResult:
        """Options of a new session for a client: how changes reach the disk."""
        folder = file_path(params.working_directory) if params.working_directory else None
        chosen = _read_mode(params.config)
        mode = chosen or await self.parts.catalog.mode(folder or self.parts.catalog.workspace)
        listed = ahp.SessionConfigPropertySchema(
            type="string",
            title="Review mode",
            description="How changes reach the disk",
            enum=list(MODES),
            default=mode,
        )
        schema = ahp.SessionConfigSchema(type="object", properties={MODE_OPTION: listed})
        return ahp.ResolveSessionConfigResult(schema=schema, values={MODE_OPTION: mode})

    async def _watch_sessions(self) -> None:
        first = await self._list.page(workspace=None, search="", before=None, limit=MOST_WATCHED)
        known = {one.summary.session_id: self._uri(one.summary) for one in first}
        async with aclosing(self._list.watch(workspace=None)) as changes:
            async for change in changes:
                if isinstance(change, RemovedSession):
                    uri = known.pop(change.session_id, None)
                    if uri is not None:
                        self._notify(
                            "root/sessionRemoved", ahp.SessionRemovedParams(channel=ROOT, session=uri)
                        )
                elif change.summary.session_id in known:
                    self._notify("root/sessionSummaryChanged", self._change(change))
                else:
                    known[change.summary.session_id] = self._uri(change.summary)
                    # Clients were told of a session that one of them made.
                    if change.summary.session_id not in self._uris:
                        added = ahp.SessionAddedParams(channel=ROOT, summary=self._entry(change))
                        self._notify("root/sessionAdded", added)

    def _notify(self, method: str, params: msgspec.Struct) -> None:
        for watcher in self._watchers:
            watcher(method, params)

    def _entry(self, entry: SessionListEntry) -> ahp.SessionSummary:
        summary = entry.summary
        return to_summary(self._name(summary.session_id), self._uri(summary), summary, _status(entry))

    def _change(self, entry: SessionListEntry) -> ahp.SessionSummaryChangedParams:
        whole = self._entry(entry)
        changes = ahp.PartialSessionSummary(
            title=whole.title, status=whole.status, modified_at=whole.modified_at, chats=whole.chats
        )
        return ahp.SessionSummaryChangedParams(channel=ROOT, session=whole.resource, changes=changes)

    def _name(self, session_id: SessionId) -> str:
        return next((name for name, one in self._names.items() if one == session_id), session_id)

    def _uri(self, summary: SessionSummary) -> str:
        return self._uris.get(summary.session_id) or session_uri(summary.agent, summary.session_id)

    def _schedule_end(self, session_id: SessionId) -> None:
        if session_id in self._channels and not self._subscribers.get(session_id):
            loop = asyncio.get_running_loop()
            if (timer := self._expiry.pop(session_id, None)) is not None:
                timer.cancel()
            self._expiry[session_id] = loop.call_later(self._keep, self._end, session_id)

    def _end(self, session_id: SessionId) -> None:
        self._expiry.pop(session_id, None)
        channel = self._channels.pop(session_id, None)
        if channel is not None:
            task = asyncio.create_task(channel.close(), name=f"end of {session_id} for agent host clients")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def _read_mode(config: dict[str, object] | None) -> ReviewMode | None:
    chosen = (config or {}).get(MODE_OPTION)
    if chosen is None:
        return None
    for mode in MODES:
        if mode == chosen:
            return mode
    raise InvalidInput(f"Unknown review mode {chosen!r}. Available: {', '.join(MODES)}.")


def _status(entry: SessionListEntry) -> int:
    summary: SessionSummary = entry.summary
    if summary.state.active:
        return ahp.STATUS_INPUT_NEEDED if entry.waiting else ahp.STATUS_IN_PROGRESS
    failed = summary.state in (TurnState.FAILED, TurnState.INTERRUPTED)
    return ahp.STATUS_ERROR if failed else ahp.STATUS_IDLE
