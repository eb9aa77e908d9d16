"""State of one open session: its journal, turn status and agent connection; records what the agent sends.

The session is the listener of its agent: every update becomes events here, in order. How a turn
runs from prompt to end is in `turn.py`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.connection import MethodHandler
from portico.domain import codecs, events, values
from portico.domain.errors import InvalidInput
from portico.domain.ids import TurnId, make_turn_id, turn_ordinal
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnEvent, TurnState, TurnStatus
from portico.files.deadline import within_deadline
from portico.rpc.messages import Fault, RpcError
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.agent.options import SessionOptions
from portico.sessions.agent.pool import AgentPool
from portico.sessions.agent.resume import (
    AttachResult,
    HistoryListener,
    attach_anew,
    attach_session,
    is_unknown_session,
)
from portico.sessions.content import translation
from portico.sessions.content.tool_calls import TurnToolCalls
from portico.sessions.content.update_merger import UpdateMerger
from portico.sessions.log.fork import pending_fork
from portico.sessions.log.journal import Journal
from portico.sessions.log.replay import EVENTS_LOOKED_AT, LAST_EVENTS, needs_summary, summarize
from portico.sessions.ports import AgentSpec, Lease, Ports, tree_lease_name
from portico.sessions.requests.call_recorder import ClientCallRecorder
from portico.sessions.requests.client_methods import client_methods
from portico.sessions.requests.pending_requests import PendingRequests
from portico.sessions.turn_review import ReviewSubject, TurnReview

MAX_FAULT_NOTICES = 20
_UNCONFINED = "It can write and read your files without asking. See what is missing with: portico doctor"
_PAGE_DONE = "elicitation/complete"


class SessionRuntime:
    def __init__(
        self, summary: SessionSummary, spec: AgentSpec, lease: Lease, ports: Ports, links: AgentPool
    ) -> None:
        self.id = summary.session_id
        self.workspace = Path(summary.workspace)
        self.spec = spec
        self.reads_only = summary.reads_only
        self.ports = ports
        self.journal = Journal(self.id, ports.store, ports.clock, links.backlog, last_seq=summary.last_seq)
        self.reviewing = TurnReview(
            ReviewSubject(
                session_id=self.id,
                workspace=self.workspace,
                mode=summary.mode,
                reads_only=summary.reads_only,
            ),
            ports.reviews,
            self.journal.record,
            beside=lambda: ports.store.lease_holder(tree_lease_name(self.workspace)) is not None,
        )
        self.status = TurnStatus(summary.state)
        self.asking = PendingRequests(self)
        self.options = SessionOptions(spec.name, self.journal)
        self.tools = TurnToolCalls(ports.clock)
        self.gathering = UpdateMerger()
        self.history_listener: HistoryListener | None = None
        self.untold: str | None = None
        """What the agent has to be told with the next prompt, because it remembers nothing."""
        self.resume_unconfirmed = False
        """Whether the agent reopened its session and has taken no prompt in it since."""
        self._open_editor(None)
        # Held while the agent is started and its session opened, so that this is never done twice at once.
        self.connect_lock = asyncio.Lock()
        self.link: AgentConnection | None = None
        self.agent_session_id = summary.agent_session_id
        self.last_heard = 0.0
        self._attached = False
        self._turns = turn_ordinal(summary.last_turn)
        self._lease = lease
        self._links = links
        self._has_history = summary.last_seq > 1
        self._faults = 0
        self._unreported_faults: tuple[Fault, int] | None = None
        self._state_restored = summary.last_seq == 1
        self._warned_unconfined = False

    @property
    def agent_alive(self) -> bool:
        return self.link is not None and self.link.alive and self._attached

    async def will_be_confined(self) -> bool:
        """Whether the kernel will keep the agent away from files that its mode promises to leave alone."""
        if self.reviewing.writes_workspace:
            return False
        return await asyncio.to_thread(self.ports.confined, self.spec, self.reviewing.placed)

    @property
    def is_confined(self) -> bool:
        """Whether a sandbox is in force for the agent that runs now."""
        sandbox = None if self.link is None else self.link.sandbox
        return sandbox is not None and sandbox.level != "none"

    def begin_turn(self) -> TurnId:
        self._turns += 1
        self._faults = 0
        self.tools = TurnToolCalls(self.ports.clock)
        self.journal.failed.clear()
        self.journal.turn_id = make_turn_id(self._turns)
        self.last_heard = self.ports.clock.monotonic()
        return self.journal.turn_id

    def move(
        self,
        event: TurnEvent,
        *,
        reason: str | None = None,
        agent_session: values.AgentSession | None = None,
    ) -> events.StateChanged:
        """Take a step in the turn table; the event that says so, for the caller to record."""
        previous = self.status.state
        self.status = self.status.after(event, agent_alive=self.agent_alive)
        return events.StateChanged(
            state=self.status.state, previous=previous, reason=reason, agent_session=agent_session
        )

    async def connect(self) -> AgentConnection:
        """Start the agent if it is not there."""
        if self.link is None or not self.link.alive:
            await self.disconnect()
            await self.reviewing.open()
            folder = self.reviewing.folder
            place = AgentWorkspace(
                self.workspace, None if folder == self.workspace else folder, self.reads_only
            )
            self._open_editor(place.folder)
            self.link = await self._links.take(self.spec, place, self.editor, self)
        return self.link

    async def change_mode(self, mode: ReviewMode) -> None:
        """From now on changes reach the files another way; the agent is started again where that leads."""
        async with self.connect_lock:
            await self.disconnect()
            self.reviewing.change(mode)

    async def attach(self) -> None:
        """Find or make the agent's side of this session."""
        if self.link is None:
            raise InvalidInput("The agent is not running.")
        if self._attached:
            if self.status.state in (TurnState.STARTING, TurnState.RESUMING):
                self.journal.record(self.move(TurnEvent.AGENT_READY))
            return
        chosen = await self._chosen_options()
        known, forked_from = self.agent_session_id, None
        if known is None and self._has_history:
            forked_from = await pending_fork(self.ports.store, self.id)
        attached = await attach_session(self.link, self, known=known, forked_from=forked_from)
        await self._finish_attach(self.link, attached, chosen)

    async def attach_anew(self, refusal: RpcError) -> bool:
        """Begin another session if the agent refused the first prompt in one that it does not know after all."""
        resume_unconfirmed, self.resume_unconfirmed = self.resume_unconfirmed, False
        if self.link is None or self.agent_session_id is None or not resume_unconfirmed:
            return False
        if not is_unknown_session(refusal, self.agent_session_id) or not await self.was_answered():
            return False
        self.link.abandon(self.agent_session_id)
        attached = await attach_anew(self.link, self, refusal)
        await self._finish_attach(self.link, attached, await self._chosen_options())
        return True

    async def _finish_attach(
        self, link: AgentConnection, attached: AttachResult, chosen: Mapping[str, str | bool]
    ) -> None:
        self.untold = await self._forgotten_history(attached)
        self.resume_unconfirmed = attached.session.attached_by in ("resume", "load")
        self.record_attached(attached)
        self._send_todos()
        await self.options.restore(link.end, attached, chosen)

    async def was_answered(self) -> bool:
        """Whether the agent said or did anything in the conversation so far, as the log has it."""
        answers = (events.TextDelta, events.ToolStarted)
        return any(isinstance(event.payload, answers) for event in await self._earlier(EVENTS_LOOKED_AT))

    async def usable_mcp_servers(self, link: AgentConnection) -> Sequence[acp.McpServer]:
        """The MCP servers of the settings; what the agent cannot be given is noted."""
        given = await within_deadline(lambda: self.ports.mcp_servers(self.workspace))
        by_http = link.info.agent_capabilities.mcp_capabilities.http
        unreachable = (
            f"The MCP server {server.name} is left out: {self.spec.name} uses none over HTTP."
            for server in given.servers
            if server.url is not None and not by_http
        )
        for problem in (*given.problems, *unreachable):
            self.journal.record(events.Notice(level="warning", text=problem))
        return [server for server in given.servers if server.url is None or by_http]

    async def disconnect(self, *, grace: float | None = None) -> None:
        """End the agent and every command it runs."""
        link, self.link, self._attached = self.link, None, False
        if self.editor.terminals is not None:
            await self.editor.terminals.close()
        if link is not None:
            await self._links.give_back(
                link, self, grace=self.ports.limits.stop_grace if grace is None else grace
            )

    async def end_agent(self) -> None:
        """End an agent that does not obey, at once and for every session it has."""
        link = self.link
        await self.disconnect(grace=0)
        if link is not None:
            await self._links.end(link, grace=0)

    async def close(self, *, forget: bool = False) -> None:
        """Let go of everything. The agent is told, and told to `forget` what nobody will come back to."""
        try:
            if self.link is not None and self.agent_alive and not self.status.state.active:
                await self.link.end_session(self, delete=forget)
            await self.disconnect()
            self.settle()
        finally:
            try:
                await self.journal.close()
            finally:
                self._lease.release()

    async def set_option(self, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by its id, its category or its name."""
        if self.link is None or self.agent_session_id is None or not self._attached:
            raise InvalidInput("The agent is not running.", suggestion="Send a prompt first.")
        await self.options.set(self.link.end, self.agent_session_id, name, value)

    async def write_todos(self, todos: tuple[values.TodoItem, ...]) -> None:
        """Take the person's list. An agent that works with it knows it before it asks its model again."""
        await self.journal.commit(events.TodosUpdated(todos=todos))
        self.gathering.plans.todos = todos
        if self.agent_alive:
            self._send_todos()

    def _send_todos(self) -> None:
        """The log has the list that holds, whatever the agent remembers."""
        todos, link = self.gathering.plans.todos, self.link
        if todos is None or link is None or self.agent_session_id is None:
            return
        if extensions.from_meta(link.info.agent_capabilities.meta, extensions.AgentExtensions).todos:
            written = [
                extensions.WrittenTodo(content=todo.content, status=todo.status, priority=todo.priority)
                for todo in todos
            ]
            link.end.write_todos(extensions.WrittenTodos(session_id=self.agent_session_id, todos=written))

    def hear(self) -> None:
        """The agent, or the person it waited for, has given a sign of life."""
        self.last_heard = self.ports.clock.monotonic()

    def update(self, update: acp.SessionUpdate) -> None:
        self.hear()
        if self.history_listener is None or not self.history_listener.take(update):
            self.record_update(update)

    def record_update(self, update: acp.SessionUpdate) -> None:
        """Write down what an update says."""
        match update:
            case acp.ToolCall() | acp.ToolCallProgress():
                for payload in self.tools.take(update):
                    self.journal.record(payload)
            case acp.CurrentModeUpdate(current_mode_id=mode):
                self.options.note_mode(mode)
            case acp.ConfigOptionUpdate(config_options=options):
                self.options.note(options)
            case _:
                for payload in self.gathering.take(update):
                    self._record(payload)

    def unknown_update(self, raw: Raw) -> None:
        self.hear()
        if self.history_listener is None or not self.history_listener.take(raw):
            self.journal.record(translation.unknown_update(Raw(bytes(raw))))

    def notified(self, method: str, params: Raw) -> None:
        if method == extensions.FAULT:
            self.fault(extensions.fault_from(params))
            return
        if method == extensions.PERMISSION_DECIDED:
            self.asking.decided(codecs.decode_json(params, extensions.PermissionDecided))
            return
        if method == extensions.PROPOSAL_UPDATED:
            self.journal.record(codecs.decode_json(params, events.ProposalUpdated))
            return
        if method == _PAGE_DONE:
            page = codecs.decode_json(params, acp.CompleteElicitationNotification)
            self.asking.completed(page.elicitation_id)
            return
        text = f"The agent sent the notification {method}."
        self.journal.record(events.Notice(level="info", text=text, source="agent", raw=Raw(bytes(params))))

    def fault(self, fault: Fault) -> None:
        self._faults += 1
        if self._faults <= MAX_FAULT_NOTICES:
            self.journal.record(translation.fault_notice(fault, 1))
        else:
            first, count = self._unreported_faults or (fault, 0)
            self._unreported_faults = (first, count + 1)

    def settle(self) -> None:
        """Tell what came in pieces or was never shown, and how many more messages were malformed."""
        for payload in (*self.gathering.settle(), *self.tools.leftovers()):
            self.journal.record(payload)
        if self._unreported_faults is not None:
            self.journal.record(translation.fault_notice(*self._unreported_faults))
            self._unreported_faults = None

    async def ready(self) -> None:
        await self.journal.ready()

    async def _chosen_options(self) -> dict[str, str | bool]:
        """What the person has set so far, in this process or in an earlier one."""
        if not self._state_restored:
            for event in await self.ports.store.standing(self.id):
                if isinstance(event.payload, events.ConfigUpdated):
                    self.options.recall(event.payload)
                if isinstance(event.payload, events.TodosUpdated):
                    self.gathering.plans.todos = event.payload.todos
            self._state_restored = True
        return self.options.set_by_person()

    async def _forgotten_history(self, attached: AttachResult) -> str | None:
        """What the agent does not know: of a session it has lost, and of one it was to be told about next."""
        if not attached.forgotten:
            newest = await self._earlier(LAST_EVENTS) if self._has_history else []
            if not needs_summary(newest):
                return None
        return summarize(await self._earlier(EVENTS_LOOKED_AT))

    async def _earlier(self, limit: int) -> list[events.Event]:
        """The last events before this turn."""
        found = await self.ports.store.tail(self.id, before_seq=None, limit=limit)
        turn_id = self.journal.turn_id
        return [event for event in found if turn_id is None or event.turn_id != turn_id]

    def _open_editor(self, folder: Path | None) -> None:
        self.editor = self.ports.editors.open(self.workspace, folder=folder, session_id=self.id)
        self.serve: Mapping[str, MethodHandler] = client_methods(
            self.editor, self.asking.serve, ClientCallRecorder(self, folder), reads_only=self.reads_only
        )

    def _record(self, payload: events.AnyPayload) -> None:
        if self.status.state is TurnState.RUNNING and isinstance(payload, events.TextDelta | events.Thinking):
            self.journal.record(self.move(TurnEvent.FIRST_OUTPUT))
        self.journal.record(payload)

    def record_attached(self, attached: AttachResult) -> None:
        sandbox = None if self.link is None else self.link.sandbox
        session = msgspec.structs.replace(attached.session, sandbox=sandbox)
        self.agent_session_id = session.agent_session_id
        self._attached = True
        if self.status.state in (TurnState.STARTING, TurnState.RESUMING):
            self.journal.record(self.move(TurnEvent.AGENT_READY, agent_session=session))
        else:
            now = self.status.state
            self.journal.record(events.StateChanged(state=now, previous=now, agent_session=session))
        for notice in attached.notices():
            self.journal.record(notice)
        if sandbox is not None and sandbox.level == "none" and not self._warned_unconfined:
            self._warned_unconfined = True
            self.journal.record(events.Notice(level="warning", text=sandbox.note, details=_UNCONFINED))
