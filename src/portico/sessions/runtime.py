"""State of one open session: its journal, turn status and agent connection; records what the agent sends.

The connection delivers the agent's updates here, where each becomes events, in order. `turn.py` runs the turns.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.connection import MethodHandler
from portico.acp.extension_handlers import ExtensionHandlers
from portico.domain import codecs, events, values
from portico.domain.errors import InvalidInput
from portico.domain.ids import TurnId, make_turn_id, turn_ordinal
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnEvent, TurnState, TurnStatus
from portico.rpc.messages import Fault
from portico.sessions.agent.attachment import AgentAttachment
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.agent.options import SessionOptions
from portico.sessions.agent.pool import AgentPool
from portico.sessions.agent.resume import HistoryListener
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.code_tree import open_code_tree
from portico.sessions.content import translation
from portico.sessions.content.edit_checks import EditChecks
from portico.sessions.content.problem_changes import ProblemChanges
from portico.sessions.content.tool_calls import TurnToolCalls
from portico.sessions.content.update_merger import UpdateMerger
from portico.sessions.leases import tree_lease_name
from portico.sessions.log.journal import Journal
from portico.sessions.ports import AgentSpec, Editor, EditorTerminals, Lease, Ports
from portico.sessions.requests.call_recorder import ClientCallRecorder
from portico.sessions.requests.client_methods import client_methods
from portico.sessions.requests.pending_requests import PendingRequests
from portico.sessions.turn_review import ReviewSubject, TurnReview

MAX_FAULT_NOTICES = 20
_PAGE_DONE = "elicitation/complete"


class SessionRuntime:
    def __init__(
        self, summary: SessionSummary, spec: AgentSpec, lease: Lease, ports: Ports, pool: AgentPool
    ) -> None:
        self.id = summary.session_id
        self.workspace = Path(summary.workspace)
        self.spec = spec
        self.reads_only = summary.reads_only
        self.components = summary.components
        """Components that the session has switched. The agent is restarted for it when it is next needed."""
        self.ports = ports
        self.journal = Journal(self.id, ports.store, ports.clock, pool.backlog, last_seq=summary.last_seq)
        self.review = TurnReview(
            ReviewSubject(
                session_id=self.id,
                workspace=self.workspace,
                mode=summary.mode,
                reads_only=summary.reads_only,
            ),
            ports.reviews,
            self.journal.record,
            beside=self._has_writer_beside,
        )
        self.status = TurnStatus(summary.state)
        self.requests = PendingRequests(self)
        self.options = SessionOptions(spec.name, self.journal)
        self.tools = TurnToolCalls(ports.clock)
        self.problem_changes = ProblemChanges(
            self.workspace,
            ports.clock,
            ports.problems,
            self._record_in_turn,
        )
        self.edit_checks = EditChecks(self._open_code, self._record_in_turn)
        self.update_merger = UpdateMerger()
        self.history_listener: HistoryListener | None = None
        self.editor: Editor | None = None
        """Files and terminals of the agent, while it runs."""
        self.serve: Mapping[str, MethodHandler] = {}
        """Methods that the agent may call."""
        # Held while the agent is started and its session opened, so that this happens once.
        self.connect_lock = asyncio.Lock()
        self.connection: AgentConnection | None = None
        self.agent_session_id = summary.agent_session_id
        self.last_heard = 0.0
        self.attachment = AgentAttachment(self, last_seq=summary.last_seq)
        self._turns = turn_ordinal(summary.last_turn)
        self._lease = lease
        self._pool = pool
        self._faults = 0
        self._notifications = self._own_notifications()
        self._unreported_faults: tuple[Fault, int] | None = None

    def started_event(self) -> events.SessionStarted:
        """The event of a session that is continued as it is now."""
        return events.SessionStarted(
            workspace=str(self.workspace),
            agent=self.spec.name,
            agent_command=self.spec.command,
            mode=self.review.mode,
            reads_only=self.reads_only,
            continued=True,
            portico_version=self.ports.version,
        )

    @property
    def terminals(self) -> EditorTerminals | None:
        """The terminals in which the agent's commands run."""
        return None if self.editor is None else self.editor.terminals

    @property
    def agent_alive(self) -> bool:
        return self.connection is not None and self.connection.alive and self.attachment.is_open

    @property
    def has_lost_lease(self) -> bool:
        """Whether another process has taken the session over, because this one was silent for too long."""
        return self._lease.is_lost

    async def _has_writer_beside(self) -> bool:
        return await self.ports.store.lease_holder(tree_lease_name(self.workspace)) is not None

    async def will_be_confined(self) -> bool:
        """Whether a sandbox will keep the agent from writing files that its mode protects."""
        if self.review.writes_workspace:
            return False
        return await asyncio.to_thread(self.ports.confined, self.spec, self.review.placed)

    @property
    def is_confined(self) -> bool:
        """Whether a sandbox is in force for the agent that runs now."""
        sandbox = None if self.connection is None else self.connection.sandbox
        return sandbox is not None and sandbox.level != "none"

    def begin_turn(self) -> TurnId:
        self._turns += 1
        self._faults = 0
        self.tools = TurnToolCalls(self.ports.clock)
        self.problem_changes.begin_turn()
        self.edit_checks.begin_turn()
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
        """Change the turn state; returns the event for the caller to record."""
        previous = self.status.state
        self.status = self.status.after(event, agent_alive=self.agent_alive)
        return events.StateChanged(
            state=self.status.state, previous=previous, reason=reason, agent_session=agent_session
        )

    async def connect(self) -> AgentConnection:
        """Start the agent if it is not running, or runs with other components than the session has now."""
        spec = msgspec.structs.replace(self.spec, components=self.components)
        connection = self.connection
        if connection is None or not connection.alive or connection.spec.components != spec.components:
            await self.disconnect()
            await self.review.open()
            folder = self.review.folder
            place = AgentWorkspace(
                self.workspace, None if folder == self.workspace else folder, self.reads_only
            )
            self.editor = self._open_editor(place.folder)
            self.connection = await self._pool.take(spec, place, self.editor, self)
            return self.connection
        return connection

    async def change_mode(self, mode: ReviewMode) -> None:
        """Change the review mode. The agent is restarted, since it may work in another folder."""
        async with self.connect_lock:
            await self.disconnect()
            self.review.change(mode)

    async def disconnect(self, *, grace: float | None = None) -> None:
        """End the agent and every command it runs."""
        connection, self.connection, self.attachment.is_open = self.connection, None, False
        if self.terminals is not None:
            await self.terminals.close()
        if connection is not None:
            await self._pool.release(
                connection, self, grace=self.ports.limits.stop_grace if grace is None else grace
            )

    async def end_agent(self) -> None:
        """End an agent that does not stop, at once and for every session it has."""
        connection = self.connection
        await self.disconnect(grace=0)
        if connection is not None:
            await self._pool.end(connection, grace=0)

    async def close(self, *, forget: bool = False) -> None:
        """End the agent, close the journal and release the lease. With `forget` the agent deletes its session."""
        try:
            if self.connection is not None and self.agent_alive and not self.status.state.active:
                await self.connection.end_session(self, delete=forget)
            await self.disconnect()
            self.problem_changes.close()
            await self.edit_checks.close()
            self.settle()
        finally:
            try:
                await self.journal.close()
            finally:
                self._lease.release()

    async def set_option(self, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by its id, its category or its name."""
        if self.connection is None or self.agent_session_id is None or not self.attachment.is_open:
            raise InvalidInput("The agent is not running.", suggestion="Send a prompt first.")
        await self.options.set(self.connection.end, self.agent_session_id, name, value)

    async def write_todos(self, todos: tuple[values.TodoItem, ...]) -> None:
        """Replace the to-do list with the person's, and send it to an agent that supports this."""
        await self.journal.commit(events.TodosUpdated(todos=todos))
        self.update_merger.plans.todos = todos
        if self.agent_alive:
            self.send_todos()

    def send_todos(self) -> None:
        """Send the list of the log, which overrides the agent's own."""
        todos, connection = self.update_merger.plans.todos, self.connection
        if todos is None or connection is None or self.agent_session_id is None:
            return
        if extensions.from_meta(connection.info.agent_capabilities.meta, extensions.AgentExtensions).todos:
            written = [
                extensions.WrittenTodo(content=todo.content, status=todo.status, priority=todo.priority)
                for todo in todos
            ]
            connection.end.write_todos(
                extensions.WrittenTodos(session_id=self.agent_session_id, todos=written)
            )

    def hear(self) -> None:
        """Reset the idle timer, because the agent or the person did something."""
        self.last_heard = self.ports.clock.monotonic()

    def update(self, update: acp.SessionUpdate) -> None:
        self.hear()
        if self.history_listener is None or not self.history_listener.take(update):
            self.record_update(update)

    def record_update(self, update: acp.SessionUpdate) -> None:
        """Record the events of an update."""
        match update:
            case acp.ToolCall() | acp.ToolCallProgress():
                for payload in self.tools.take(update):
                    self.record_tool(payload)
            case acp.CurrentModeUpdate(current_mode_id=mode):
                self.options.note_mode(mode)
            case acp.ConfigOptionUpdate(config_options=options):
                self.options.note(options)
            case _:
                for payload in self.update_merger.take(update):
                    self._record(payload)

    def record_tool(self, payload: events.AnyPayload) -> None:
        """Record an event of a tool call, and follow the problems of the files that it changes."""
        self.journal.record(payload)
        if self.review.writes_workspace:
            self.problem_changes.note(payload, self.journal.turn_id)
        if self.ports.checks_edits and not self.reads_only:
            self.edit_checks.note(payload, self.journal.turn_id)

    def _record_in_turn(self, payload: events.AnyPayload, turn_id: TurnId | None) -> None:
        self.journal.record_in(turn_id, payload)

    async def _open_code(self) -> tuple[CodeServers, CodeTree] | None:
        """Language servers for the session's tree, unless an attached window reports its problems."""
        reports, find = self.ports.problems, self.ports.code_servers
        if find is None or (
            self.review.writes_workspace and reports is not None and reports.covers(self.workspace)
        ):
            return None
        servers, folder = await find(self.workspace), self.review.folder
        if servers is None:
            return None
        own = None if folder == self.workspace else folder
        return servers, open_code_tree(self.ports, self.id, self.workspace, own)

    def unknown_update(self, raw: Raw) -> None:
        self.hear()
        if self.history_listener is None or not self.history_listener.take(raw):
            self.journal.record(translation.unknown_update(Raw(bytes(raw))))

    def _own_notifications(self) -> ExtensionHandlers:
        """Handlers of the notifications that proxies of Portico send."""

        def decided(params: Raw) -> None:
            self.requests.decided(codecs.decode_json(params, extensions.PermissionDecided))

        def proposal_updated(params: Raw) -> None:
            self.journal.record(codecs.decode_json(params, events.ProposalUpdated))

        handlers = ExtensionHandlers()
        handlers.on_notification(extensions.FAULT, lambda params: self.fault(extensions.fault_from(params)))
        handlers.on_notification(extensions.PERMISSION_DECIDED, decided)
        handlers.on_notification(extensions.PROPOSAL_UPDATED, proposal_updated)
        return handlers

    def notified(self, method: str, params: Raw) -> None:
        if self._notifications.notify(method, params):
            return
        if method == _PAGE_DONE:
            page = codecs.decode_json(params, acp.CompleteElicitationNotification)
            self.requests.completed(page.elicitation_id)
            return
        text = f"The agent sent the notification {method}."
        self.journal.record(
            events.Notice(level="info", text=text, source="agent", raw=Raw(bytes(params)), code=method)
        )

    def fault(self, fault: Fault) -> None:
        self._faults += 1
        if self._faults <= MAX_FAULT_NOTICES:
            self.journal.record(translation.fault_notice(fault, 1))
        else:
            first, count = self._unreported_faults or (fault, 0)
            self._unreported_faults = (first, count + 1)

    def settle(self) -> None:
        """Record buffered updates, unfinished tool calls and the number of unreported malformed messages."""
        for payload in (*self.update_merger.settle(), *self.tools.leftovers()):
            self.journal.record(payload)
        if self._unreported_faults is not None:
            self.journal.record(translation.fault_notice(*self._unreported_faults))
            self._unreported_faults = None

    async def ready(self) -> None:
        await self.journal.ready()

    def _open_editor(self, folder: Path | None) -> Editor:
        editor = self.ports.editors.open(self.workspace, folder=folder, session_id=self.id)
        recorder = ClientCallRecorder(self, folder)
        self.serve = client_methods(editor, self.requests.serve, recorder, reads_only=self.reads_only)
        return editor

    def _record(self, payload: events.AnyPayload) -> None:
        if self.status.state is TurnState.RUNNING and isinstance(payload, events.TextDelta | events.Thinking):
            self.journal.record(self.move(TurnEvent.FIRST_OUTPUT))
        self.journal.record(payload)
