"""One open session in this process: its state, its pen, its agent, and what the two say.

The session is the listener of its agent: every update becomes events here, in order. How a turn
runs from prompt to end is in `turn.py`.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.ends import Serve
from portico.acp.lenient import decode
from portico.domain import events
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.ids import TurnId, make_turn_id, turn_ordinal
from portico.domain.summaries import SessionSummary
from portico.domain.turns import TurnEvent, TurnState, TurnStatus
from portico.rpc.messages import Fault
from portico.sessions import translate
from portico.sessions.attaching import Attached, attach_again, attach_new
from portico.sessions.journal import Journal
from portico.sessions.link import AgentLink
from portico.sessions.links import AgentLinks
from portico.sessions.permissions import Decision, PendingPermissions, answer_to_agent
from portico.sessions.ports import AgentSpec, Lease, Ports
from portico.sessions.replay import EVENTS_LOOKED_AT, summarize
from portico.sessions.services import serve_editor
from portico.sessions.tools import ToolLedger

MAX_FAULT_NOTICES = 20


class LiveSession:
    def __init__(
        self, summary: SessionSummary, spec: AgentSpec, lease: Lease, ports: Ports, links: AgentLinks
    ) -> None:
        self.id = summary.session_id
        self.workspace = Path(summary.workspace)
        self.spec = spec
        self.reads_only = summary.reads_only
        self.ports = ports
        self.journal = Journal(self.id, ports.store, ports.clock, last_seq=summary.last_seq)
        self.status = TurnStatus(summary.state)
        self.permissions = PendingPermissions()
        self.tools = ToolLedger(ports.clock)
        self.editor = ports.editors.open(self.workspace)
        self.serve: Mapping[str, Serve] = serve_editor(
            self.editor, self._ask, self._heard_terminal, reads_only=summary.reads_only
        )
        self.link: AgentLink | None = None
        self.agent_session_id = summary.agent_session_id
        self.last_heard = 0.0
        self._attached = False
        self._turns = turn_ordinal(summary.last_turn)
        self._lease = lease
        self._links = links
        self._replayed: int | None = None
        self._faults = 0
        self._unreported_faults: tuple[Fault, int] | None = None
        self._config: tuple[events.ConfigOption, ...] = ()

    @property
    def agent_alive(self) -> bool:
        return self.link is not None and self.link.alive and self._attached

    def begin_turn(self) -> TurnId:
        self._turns += 1
        self._faults = 0
        self.tools = ToolLedger(self.ports.clock)
        self.journal.failed.clear()
        self.journal.turn_id = make_turn_id(self._turns)
        self.last_heard = self.ports.clock.monotonic()
        return self.journal.turn_id

    def move(
        self,
        event: TurnEvent,
        *,
        reason: str | None = None,
        agent_session: events.AgentSession | None = None,
    ) -> events.StateChanged:
        """Take a step in the turn table; the event that says so, for the caller to record."""
        previous = self.status.state
        self.status = self.status.after(event, agent_alive=self.agent_alive)
        return events.StateChanged(
            state=self.status.state, previous=previous, reason=reason, agent_session=agent_session
        )

    async def connect(self) -> None:
        """Start the agent if it is not there, and find or make its side of this session."""
        if self.agent_alive:
            return
        await self.disconnect()
        self.link = await self._links.take(self.spec, self.workspace, self.editor, self)

    async def attach(self) -> str | None:
        """Find or make the agent's side of this session; what it must be told first, if anything."""
        if self.link is None:
            raise InvalidInput("The agent is not running.")
        if self._attached:
            if self.status.state in (TurnState.STARTING, TurnState.RESUMING):
                self.journal.record(self.move(TurnEvent.AGENT_READY))
            return None
        known, attached = self.agent_session_id, None
        if known is not None:
            attached = await self._attach_again(self.link, known)
        preface = None
        if attached is None:
            attached = await attach_new(self.link, self, self.workspace)
            if known is not None:
                preface = await self._what_was_said()
                attached = attached.reached("replay")
        self._note_attached(attached)
        return preface

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

    async def close(self) -> None:
        try:
            await self.disconnect()
            await self.journal.close()
        finally:
            self._lease.release()

    def answer(self, request_id: str, decision: Decision) -> None:
        self.permissions.answer(request_id, decision)

    async def choose(self, category: str, wanted: str) -> None:
        """Set the agent's option of a category, by its value or its name."""
        option = next((one for one in self._config if one.category == category), None)
        if option is None or self.link is None or self.agent_session_id is None:
            raise InvalidInput(
                f"The agent {self.spec.name} offers no choice of {category}.",
                suggestion=f"Leave out --{category}, or choose another agent.",
            )
        folded = wanted.casefold()
        found = [one for one in option.choices if folded in (one.value.casefold(), one.name.casefold())]
        if not found:
            names = ", ".join(choice.value for choice in option.choices)
            raise InvalidInput(f"{wanted!r} is no {category} of {self.spec.name}; it has {names}.")
        if found[0].value == option.value:
            return
        response = await self.link.end.set_config_option(
            acp.SetSessionConfigOptionRequest(
                session_id=self.agent_session_id, config_id=option.option_id, value=found[0].value
            )
        )
        self._note_config(translate.config_updated(response.config_options, None))

    def update(self, update: acp.SessionUpdate) -> None:
        self.last_heard = self.ports.clock.monotonic()
        if self._replayed is not None:
            self._replayed += 1
            return
        match update:
            case acp.ToolCall() | acp.ToolCallProgress():
                for payload in self.tools.take(update):
                    self.journal.record(payload)
            case acp.CurrentModeUpdate(current_mode_id=mode):
                self._note_mode(mode)
            case _:
                self._record(translate.other_update(update))

    def unknown_update(self, raw: Raw) -> None:
        self.last_heard = self.ports.clock.monotonic()
        if self._replayed is None:
            self.journal.record(translate.unknown_update(Raw(bytes(raw))))

    def notified(self, method: str, params: Raw) -> None:
        if method == extensions.FAULT:
            self.fault(extensions.fault_from(params))
            return
        if method == extensions.DECIDED:
            self._note_decision(msgspec.json.decode(params, type=extensions.Decided))
            return
        text = f"The agent sent the notification {method}."
        self.journal.record(events.Notice(level="info", text=text, source="agent", raw=Raw(bytes(params))))

    def fault(self, fault: Fault) -> None:
        self._faults += 1
        if self._faults <= MAX_FAULT_NOTICES:
            self.journal.record(translate.fault_notice(fault, 1))
        else:
            first, count = self._unreported_faults or (fault, 0)
            self._unreported_faults = (first, count + 1)

    def report_more_faults(self) -> None:
        """Tell how many malformed messages came beyond those told one by one."""
        if self._unreported_faults is not None:
            self.journal.record(translate.fault_notice(*self._unreported_faults))
            self._unreported_faults = None

    async def ready(self) -> None:
        await self.journal.ready()

    async def _attach_again(self, link: AgentLink, known: str) -> Attached | None:
        """Updates that come meanwhile repeat what the log has; they are counted, not recorded."""
        self._replayed = 0
        try:
            attached = await attach_again(link, self, self.workspace, known)
            return attached and attached.reached(attached.session.attached_by, replayed=self._replayed)
        finally:
            self._replayed = None

    async def _what_was_said(self) -> str | None:
        earlier = await self.ports.store.tail(self.id, before_seq=None, limit=EVENTS_LOOKED_AT)
        return summarize(event for event in earlier if event.turn_id != self.journal.turn_id)

    def _record(self, payload: events.AnyPayload) -> None:
        if self.status.state is TurnState.RUNNING and isinstance(payload, events.TextDelta | events.Thinking):
            self.journal.record(self.move(TurnEvent.FIRST_OUTPUT))
        if isinstance(payload, events.ConfigUpdated):
            self._config = payload.options
        self.journal.record(payload)

    def _heard_terminal(self, output: events.TerminalOutput) -> None:
        self.last_heard = self.ports.clock.monotonic()
        for payload in self.tools.hear(output):
            self.journal.record(payload)

    def _note_attached(self, attached: Attached) -> None:
        session = attached.session
        self.agent_session_id = session.agent_session_id
        self._attached = True
        if self.status.state in (TurnState.STARTING, TurnState.RESUMING):
            self.journal.record(self.move(TurnEvent.AGENT_READY, agent_session=session))
        else:
            now = self.status.state
            self.journal.record(events.StateChanged(state=now, previous=now, agent_session=session))
        for way in attached.failed_ways:
            self.journal.record(events.Notice(level="warning", text=f"The agent refused {way}"))
        if session.attached_by == "replay":
            text = "The agent could not reload this conversation, so it was given a summary of it."
            self.journal.record(events.Notice(level="warning", text=text))
        self._note_config(translate.config_updated(attached.config_options, attached.modes))

    def _note_config(self, config: events.ConfigUpdated | None) -> None:
        if config is not None and config.options != self._config:
            self._config = config.options
            self.journal.record(config)

    def _note_decision(self, decided: extensions.Decided) -> None:
        """A rule answered for the person: the log has the question and the answer all the same."""
        call = self.tools.complete(decode(decided.tool_call, acp.ToolCallUpdate))
        if (waiting := self.permissions.about(call.tool_call_id)) is not None:
            decision = Decision(option_id=decided.option_id, by="policy", rule=decided.rule)
            self.permissions.answer(waiting, decision)
            return
        options = decode(decided.options, list[acp.PermissionOption])
        question = translate.permission_requested(self.permissions.next_id(), call, options)
        self.journal.record(question)
        self.journal.record(
            events.PermissionResolved(
                request_id=question.request_id,
                outcome=decided.outcome,
                by="policy",
                option_id=decided.option_id,
                rule=decided.rule or decided.source,
            )
        )

    def _note_mode(self, mode: str) -> None:
        options = tuple(
            msgspec.structs.replace(option, value=mode) if option.category == "mode" else option
            for option in self._config
        )
        self._note_config(events.ConfigUpdated(options=options))

    async def _ask(self, request: acp.RequestPermissionRequest) -> acp.RequestPermissionResponse:
        self.last_heard = self.ports.clock.monotonic()
        call = self.tools.complete(request.tool_call)
        offered = extensions.from_meta(request.meta, extensions.Offered)
        question = translate.permission_requested(self.permissions.next_id(), call, request.options, offered)
        waiting = self.permissions.ask(question)
        resolved = events.PermissionResolved(request_id=question.request_id, outcome="canceled", by="nobody")
        try:
            if self.status.state.active:
                steps: list[events.AnyPayload] = [question]
                if self.status.state is not TurnState.AWAITING:
                    steps.append(self.move(TurnEvent.ANSWER_NEEDED))
                await self.journal.commit(*steps)
            else:
                self.journal.record(question)
                self.permissions.answer(question.request_id, Decision(option_id=None, by="nobody"))
            resolved = await waiting
            return answer_to_agent(resolved)
        except PorticoError:
            resolved = msgspec.structs.replace(resolved, outcome="denied")
            raise
        finally:
            self.permissions.forget(question.request_id)
            self.last_heard = self.ports.clock.monotonic()
            self.journal.record(resolved)
            if not len(self.permissions) and self.status.state is TurnState.AWAITING:
                self.journal.record(self.move(TurnEvent.ANSWERED))
