"""Service that starts, opens, watches, forks and deletes sessions, whichever door asks.

The log is the only truth: what a door sees, it reads from there. Which sessions are open in this process, and
by what right, is the business of `possession`.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload, Event, SessionStarted, StateChanged, TodosUpdated, TurnEnded
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnEvent, TurnState
from portico.domain.values import SandboxStatus, TodoItem
from portico.files.deadline import within_deadline
from portico.sessions.agent.adoption import adopt
from portico.sessions.agent.login import AgentLogin
from portico.sessions.agent.supervision import call_agent, start_agent
from portico.sessions.log.fork import fork
from portico.sessions.log.recovery import append_events, recover
from portico.sessions.log.watch import check_after_seq, watch_journal, watch_store
from portico.sessions.lookup import resolve_workspace, show
from portico.sessions.ports import AgentSpec, Ports
from portico.sessions.registry import SessionRegistry
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.session import Session
from portico.sessions.session_view import SessionView, with_agent_state
from portico.sessions.turn import TurnPrompt

_NEWEST = 200


class SessionService:
    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._open = SessionRegistry(ports)
        self._closing = False
        self.notes = self._open.notes

    async def recover(self, *, skip_failures: bool = False) -> list[SessionId]:
        """Interrupt turns whose host died. Call once, before anything else. `forgiving` passes over what fails."""
        return await recover(self._ports, skip_failures=skip_failures)

    async def start(
        self,
        workspace: Path,
        spec: AgentSpec,
        *,
        mode: ReviewMode = "direct",
        reads_only: bool = False,
        adopts: str | None = None,
    ) -> SessionId:
        """Begin a new session. Its agent starts with the first prompt."""
        folder = await within_deadline(lambda: resolve_workspace(workspace))
        await self._ports.reviews.check(Path(folder), mode)
        started = self._open.started(folder, spec, mode, reads_only=reads_only, continued=False)
        return await self._open.begin(msgspec.structs.replace(started, adopts=adopts), spec)

    async def adopt(
        self, workspace: Path, spec: AgentSpec, agent_session_id: str, *, reads_only: bool = False
    ) -> tuple[SessionId, int]:
        """Begin a session with a conversation that the agent had by itself; what it tells of it is in the log.

        With its id comes the seq of the `session_started` behind all that, where the person goes on.
        """
        session_id = await self.start(workspace, spec, reads_only=reads_only, adopts=agent_session_id)
        session = self._live(session_id).session
        try:
            await adopt(session, agent_session_id)
            await session.journal.commit(
                self._open.started(
                    str(session.workspace), spec, "direct", reads_only=reads_only, continued=True
                )
            )
            newest = await self._ports.store.tail(session_id, before_seq=None, limit=_NEWEST)
        except BaseException:
            await self.delete(session_id)
            raise
        return session_id, max(event.seq for event in newest if isinstance(event.payload, SessionStarted))

    async def fork(self, session_id: SessionId) -> SessionId:
        """Copy a session as it is now; the copy is opened like any other. SessionBusy in the middle of a turn."""
        if (opened := self._open.find(session_id)) is not None:
            await opened.session.journal.commit()
        return await fork(self._ports, await self.show(session_id))

    async def reopen(self, session_id: SessionId, spec: AgentSpec) -> int:
        """Open a session from the log to go on with it; the seq of the `session_started` this adds."""
        return await self._open.reopen(session_id, spec)

    async def renew_agent(self, session_id: SessionId, spec: AgentSpec) -> bool:
        """Let an open session go on with an agent of this environment; one of another is ended. Not in a turn."""
        opened = self._live(session_id)
        async with opened.session.connect_lock:
            if opened.turn is not None:
                return False
            if opened.session.spec.env != spec.env:
                await opened.session.disconnect()
                opened.session.spec = spec
            return True

    async def connect(self, session_id: SessionId) -> None:
        """Start the agent before the first prompt, so that its commands are known and it answers sooner."""
        opened = self._live(session_id)
        if opened.turn is None:
            await opened.stop_restarting()
            await start_agent(opened.session)
            await opened.session.journal.commit()

    async def prompt(
        self, session_id: SessionId, prompt: TurnPrompt, *, wait_for_tree: bool = False
    ) -> TurnEnded:
        """Run one turn to its end. SessionBusy if a turn is under way here or in this tree."""
        prompt.require_content()
        return await self._live(session_id).take_turn(prompt, wait_for_tree=wait_for_tree)

    async def resume(self, session_id: SessionId) -> TurnEnded:
        """Bring an interrupted session's agent back, without a prompt."""
        opened = self._live(session_id)
        state = opened.session.status.state
        if state is not TurnState.INTERRUPTED:
            raise InvalidInput(f"Session {session_id} is {state}, not interrupted; just send a prompt.")
        return await opened.take_turn(None, wait_for_tree=False)

    async def discard(self, session_id: SessionId) -> None:
        """Give an interrupted turn up."""
        session = self._live(session_id).session
        if session.status.state is not TurnState.INTERRUPTED:
            raise InvalidInput(f"Session {session_id} has no interrupted turn.")
        await session.journal.commit(session.move(TurnEvent.DISCARD))

    def stop(self, session_id: SessionId, *, force: bool = False) -> bool:
        """Stop the turn that is under way; False if there is none."""
        opened = self._live(session_id)
        if opened.turn is None:
            return False
        opened.turn.stop(force=force)
        return True

    async def stop_command(self, session_id: SessionId, terminal_id: str) -> bool:
        """End a command that runs for the agent, and nothing else; False if there is none of that name."""
        terminals = self._live(session_id).session.editor.terminals
        try:
            if terminals is None or terminals.snapshot(terminal_id).ended:
                return False
            await terminals.kill(terminal_id)
        except InvalidInput:
            # The agent has let go of it meanwhile, which ends it too.
            return False
        return True

    def answer(self, session_id: SessionId, request_id: str, decision: PermissionReply) -> None:
        """Answer a permission request."""
        self._live(session_id).session.asking.permissions.answer(request_id, decision)

    def reply(self, session_id: SessionId, request_id: str, reply: QuestionAnswer) -> None:
        """Answer a question of the agent. InvalidInput, in words for the person, if the answer does not fit."""
        self._live(session_id).session.asking.questions.reply(request_id, reply)

    async def save_answers(self, session_id: SessionId) -> None:
        """Return when the log has what was answered. StoreFailed if it cannot be written."""
        if (opened := self._open.find(session_id)) is not None:
            await opened.session.asking.keep()

    async def set_option(self, session_id: SessionId, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by id, category or name; the agent is started if need be."""
        opened = self._live(session_id)
        session = opened.session
        if opened.turn is None:
            await opened.stop_restarting()
            await start_agent(session)
        await call_agent(session, session.set_option(name, value), f"set {name}")
        await session.journal.commit()

    async def signing(self, session_id: SessionId) -> AgentLogin:
        """How to sign in to the agent of a session, and out again; the agent is started if need be."""
        opened = self._live(session_id)
        await opened.stop_restarting()
        return AgentLogin(await opened.session.connect())

    async def watch(self, session_id: SessionId, *, after_seq: int) -> AsyncGenerator[Event]:
        """Every event after `after_seq`, each once, in order, whichever process writes them.

        Ends when the session is deleted or this host closes. InvalidInput if the log does not go that far.
        """
        store, clock = self._ports.store, self._ports.clock
        if not self.is_open(session_id) or after_seq > self.written(session_id):
            check_after_seq(await self.show(session_id), after_seq)
        while not self._closing:
            opened = self._open.find(session_id)
            if opened is not None:
                events = watch_journal(opened.session.journal, store, after_seq=after_seq)
            else:
                events = watch_store(
                    session_id,
                    store,
                    clock,
                    after_seq=after_seq,
                    until=lambda: self._closing or self.is_open(session_id),
                )
            async with aclosing(events):
                async for event in events:
                    yield event
                    after_seq = event.seq
            if opened is None and not self.is_open(session_id):
                return

    def is_open(self, session_id: SessionId) -> bool:
        """Whether this process has the session."""
        return self._open.find(session_id) is not None

    def open_sessions(self) -> "list[SessionId]":
        """The sessions that this process has."""
        return self._open.ids()

    def written(self, session_id: SessionId) -> int:
        """How far the log of an open session is."""
        return self._live(session_id).session.journal.committed_seq

    def is_busy(self, session_id: SessionId) -> bool:
        """Whether a turn of it is under way in this process."""
        opened = self._open.find(session_id)
        return opened is not None and opened.turn is not None

    def is_ending(self, session_id: SessionId) -> bool:
        """Whether its turn has been told to stop, or is over but for what remains to be written down."""
        opened = self._open.find(session_id)
        return opened is not None and opened.turn is not None and opened.turn.ending

    async def view(self, session_id: SessionId) -> SessionView:
        """Everything a door shows of a session besides its timeline, without reading that."""
        store = self._ports.store
        summary = await self.show(session_id)
        view = SessionView(
            summary=summary,
            standing=tuple(event.payload for event in await store.standing(session_id)),
            open_elsewhere=self._open.is_elsewhere(session_id),
        )
        opened = self._open.find(session_id)
        return view if opened is None else with_agent_state(view, opened.session)

    def waiting(self, session_id: SessionId) -> int:
        """How many answers a session needs from a person, as far as this process knows."""
        opened = self._open.find(session_id)
        if opened is None:
            return 0
        asking = opened.session.asking
        return len(asking.permissions.open) + len(asking.questions.open)

    def sandbox(self, session_id: SessionId) -> SandboxStatus | None:
        """How far the agent of a session is confined, while it runs in this process."""
        opened = self._open.find(session_id)
        return None if opened is None or opened.session.link is None else opened.session.link.sandbox

    async def set_mode(self, session_id: SessionId, mode: ReviewMode) -> None:
        """Let the changes of an open session reach the files another way from now on. Not in a turn."""
        opened = self._live(session_id)
        session = opened.session
        opened.require_no_turn()
        await self._ports.reviews.check(session.workspace, mode, session_id)
        await opened.stop_restarting()
        await session.change_mode(mode)
        await session.journal.commit(
            self._open.started(
                str(session.workspace), session.spec, mode, reads_only=session.reads_only, continued=True
            )
        )

    async def record(self, session_id: SessionId, *payloads: AnyPayload) -> None:
        """Write down what a person did with a session besides its turns. SessionBusy if another process has it."""
        if (opened := self._open.find(session_id)) is not None:
            await opened.session.journal.commit(*payloads)
            return
        lease = self._open.lease(session_id)
        try:
            await append_events(self._ports.store, self._ports.clock, session_id, payloads)
        finally:
            lease.release()

    async def write_todos(self, session_id: SessionId, todos: Sequence[TodoItem]) -> None:
        """Take the list of things to do that the person wrote. SessionBusy if another process has the session."""
        if (opened := self._open.find(session_id)) is not None:
            await opened.session.write_todos(tuple(todos))
        else:
            await self.record(session_id, TodosUpdated(todos=tuple(todos)))

    async def show(self, session_id: SessionId) -> SessionSummary:
        return await show(self._ports.store, session_id)

    async def check_delete(self, session_id: SessionId) -> None:
        """InvalidInput, with what would be lost, while the person has something to decide on in a session."""
        await self._ports.reviews.check_deletable(session_id)

    async def delete(self, session_id: SessionId, *, discard_proposals: bool = False) -> None:
        """Remove a session for good. SessionBusy while another process has it open.

        What it still proposes goes only if that is said. An agent that is there forgets it too, but for a
        conversation that it had before.
        """
        summary = await self.show(session_id)
        if not discard_proposals:
            await self.check_delete(session_id)
        if (opened := self._open.take(session_id)) is not None:
            (first,) = await self._ports.store.read(session_id, after_seq=0, limit=1)
            adopted = isinstance(first.payload, SessionStarted) and first.payload.adopts
            await opened.dismiss(forget=opened.session.agent_session_id != adopted)
        lease = self._open.lease(session_id)
        try:
            await self._ports.reviews.forget(session_id, Path(summary.workspace))
            await self._ports.store.delete(session_id)
            self.notes.take(session_id)
        finally:
            lease.release()

    async def release(self, session_id: SessionId) -> None:
        """Let go of a session and its agent, for whoever wants it next. Not in the middle of a turn."""
        if not self.is_busy(session_id) and (opened := self._open.take(session_id)) is not None:
            await opened.dismiss()

    async def close(self) -> None:
        """Stop what runs, end every agent, write what is left."""
        self._closing = True
        for one in self._open.take_all():
            await one.dismiss()

    def _live(self, session_id: SessionId) -> Session:
        return self._open.require(session_id)


def ends_turn(event: Event) -> bool:
    """Whether this event is the last of a turn."""
    payload = event.payload
    return isinstance(payload, StateChanged) and payload.previous.active and not payload.state.active
