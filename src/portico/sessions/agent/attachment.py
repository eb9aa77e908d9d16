"""The agent's side of one session: found or created, given the history it lacks, and recorded in the log."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from portico.acp import _schema as acp
from portico.domain import events
from portico.domain.errors import InvalidInput
from portico.domain.turns import TurnEvent, TurnState
from portico.rpc.messages import RpcError
from portico.sessions.agent.connection import AgentConnection
from portico.sessions.agent.resume import (
    AttachResult,
    attach_anew,
    attach_session,
    is_unknown_session,
)
from portico.sessions.log.fork import pending_fork
from portico.sessions.log.hand_off import FIRST_EVENTS, find_hand_off
from portico.sessions.log.replay import EVENTS_LOOKED_AT, LAST_EVENTS, needs_summary, summarize, with_history

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime

_UNCONFINED = "It can write and read your files without asking. See what is missing with: portico doctor"


class AgentAttachment:
    def __init__(self, session: "SessionRuntime", *, last_seq: int) -> None:
        self.is_open = False
        """Whether the agent that runs now has the session open."""
        self._session = session
        self._has_history = last_seq > 1
        self._state_restored = last_seq == 1
        self._unsent_history: str | None = None
        """Summary of the conversation, for the next prompt to an agent that does not remember it."""
        self._unconfirmed = False
        """Whether the agent reopened its session and has accepted no prompt in it since."""
        self._warned_unconfined = False

    async def open(self) -> None:
        """Find or create the agent's session."""
        session = self._session
        if session.connection is None:
            raise InvalidInput("The agent is not running.")
        if self.is_open:
            if session.status.state in (TurnState.STARTING, TurnState.RESUMING):
                session.journal.record(session.move(TurnEvent.AGENT_READY))
            return
        chosen = await self._chosen_options()
        known, forked_from = session.agent_session_id, None
        if known is None and self._has_history:
            forked_from = await pending_fork(session.ports.store, session.id)
        attached = await attach_session(session.connection, session, known=known, forked_from=forked_from)
        await self._finish(session.connection, attached, chosen)

    async def reopen(self, refusal: RpcError) -> bool:
        """Create another session if the agent refused the first prompt because it does not know this one."""
        session, unconfirmed, self._unconfirmed = self._session, self._unconfirmed, False
        if session.connection is None or session.agent_session_id is None or not unconfirmed:
            return False
        if not is_unknown_session(refusal, session.agent_session_id) or not await self.was_answered():
            return False
        session.connection.abandon(session.agent_session_id)
        attached = await attach_anew(session.connection, session, refusal)
        await self._finish(session.connection, attached, await self._chosen_options())
        return True

    def with_history(
        self, blocks: Sequence[acp.ContentBlock], accepted: acp.PromptCapabilities
    ) -> list[acp.ContentBlock]:
        """A prompt, preceded by what the agent has forgotten."""
        if self._unsent_history is None:
            return list(blocks)
        return with_history(self._unsent_history, list(blocks), accepted)

    def prompt_accepted(self) -> None:
        """The agent has answered a prompt in this session."""
        self._unsent_history = None
        self._unconfirmed = False

    async def was_answered(self) -> bool:
        """Whether the log has any output of the agent."""
        output = (events.TextDelta, events.ToolStarted)
        return any(isinstance(event.payload, output) for event in await self._earlier(EVENTS_LOOKED_AT))

    def record(self, attached: AttachResult) -> None:
        """Record that the agent has the session open."""
        session = self._session
        sandbox = None if session.connection is None else session.connection.sandbox
        opened = msgspec.structs.replace(attached.session, sandbox=sandbox)
        session.agent_session_id = opened.agent_session_id
        self.is_open = True
        now = session.status.state
        if now in (TurnState.STARTING, TurnState.RESUMING):
            session.journal.record(session.move(TurnEvent.AGENT_READY, agent_session=opened))
        else:
            session.journal.record(events.StateChanged(state=now, previous=now, agent_session=opened))
        for notice in attached.notices():
            session.journal.record(notice)
        if sandbox is not None and sandbox.level == "none" and not self._warned_unconfined:
            self._warned_unconfined = True
            session.journal.record(events.Notice(level="warning", text=sandbox.note, details=_UNCONFINED))

    async def _finish(
        self, connection: AgentConnection, attached: AttachResult, chosen: Mapping[str, str | bool]
    ) -> None:
        self._unsent_history = await self._forgotten_history(attached)
        self._unconfirmed = attached.session.attached_by in ("resume", "load")
        self.record(attached)
        self._session.send_todos()
        await self._session.options.restore(connection.end, attached, chosen)

    async def _chosen_options(self) -> dict[str, str | bool]:
        """The options that the person has set, in this process or an earlier one."""
        session = self._session
        if not self._state_restored:
            for event in await session.ports.store.standing(session.id):
                if isinstance(event.payload, events.ConfigUpdated):
                    session.options.recall(event.payload)
                if isinstance(event.payload, events.TodosUpdated):
                    session.update_merger.plans.todos = event.payload.todos
            self._state_restored = True
        return session.options.set_by_person()

    async def _forgotten_history(self, attached: AttachResult) -> str | None:
        """The history that the agent lacks: a session it has lost or continues, or whose summary it has not had yet."""
        hand_off = await self._hand_off() if self._has_history else None
        if not attached.forgotten:
            newest = await self._earlier(LAST_EVENTS) if self._has_history else []
            if not needs_summary(newest):
                return None if hand_off is None or await self.was_answered() else hand_off
        parts = (hand_off, summarize(await self._earlier(EVENTS_LOOKED_AT)))
        return "\n\n".join(filter(None, parts)) or None

    async def _hand_off(self) -> str | None:
        """Summary of the session that this one continues with another agent."""
        session = self._session
        return find_hand_off(await session.ports.store.read(session.id, after_seq=0, limit=FIRST_EVENTS))

    async def _earlier(self, limit: int) -> list[events.Event]:
        """The last events before this turn."""
        session = self._session
        found = await session.ports.store.tail(session.id, before_seq=None, limit=limit)
        turn_id = session.journal.turn_id
        return [event for event in found if turn_id is None or event.turn_id != turn_id]
