"""Service that starts, opens, watches, forks, hands off and deletes sessions, for every door.

The log is the single source of truth: a door shows only what it reads from there.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.domain.components import ComponentStatus, SessionComponents
from portico.domain.drafts import SessionDraft
from portico.domain.errors import SessionBusy, SessionNotFound
from portico.domain.events import (
    AnyPayload,
    ComponentsUpdated,
    Event,
    SessionStarted,
    TitleUpdated,
    TodosUpdated,
)
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.values import TodoItem
from portico.files.deadline import within_deadline
from portico.files.workspace import resolve_workspace
from portico.sessions.agent.adoption import adopt
from portico.sessions.log.fork import BranchPoint, branch, find_branches, fork
from portico.sessions.log.hand_off import (
    FIRST_DRAFT,
    continued_from,
    continued_with,
    summarize_session,
    title_of,
)
from portico.sessions.log.hand_off_marks import find_missing_marks
from portico.sessions.log.recovery import append_events, recover, recover_session
from portico.sessions.log.watch import check_after_seq, watch_journal, watch_store
from portico.sessions.lookup import show
from portico.sessions.open_session import OpenSession
from portico.sessions.ports import AgentSpec, Ports
from portico.sessions.registry import SessionRegistry
from portico.sessions.session_view import SessionView, with_agent_state

_NEWEST = 200


class SessionService:
    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._open = SessionRegistry(ports)
        self._closing = False
        self.pending_events = self._open.pending_events

    def session(self, session_id: SessionId) -> OpenSession:
        """The handle of a session that is open in this process. SessionNotFound if it is not."""
        session = self._open.find(session_id)
        if session is None:
            raise SessionNotFound(f"Session {session_id} is not open here.")
        return session

    def find_session(self, session_id: SessionId) -> OpenSession | None:
        """The handle of a session, if it is open in this process."""
        return self._open.find(session_id)

    def open_sessions(self) -> list[SessionId]:
        """The sessions that are open in this process."""
        return self._open.ids()

    async def recover(self, *, skip_failures: bool = False) -> list[SessionId]:
        """Interrupt turns whose process died. Call once, before anything else. `skip_failures` ignores sessions that fail."""
        return await recover(self._ports, skip_failures=skip_failures)

    async def interrupt_lost(self, session_id: SessionId) -> bool:
        """Interrupt the turn of a session whose process died; False if it is open, or has no turn."""
        return await recover_session(self._ports, session_id)

    async def start(
        self,
        workspace: Path,
        spec: AgentSpec,
        *,
        mode: ReviewMode = "direct",
        reads_only: bool = False,
        adopts: str | None = None,
    ) -> SessionId:
        """Start a new session. Its agent starts with the first prompt."""
        started = await self._started(workspace, spec, mode, reads_only=reads_only)
        return await self._open.begin(msgspec.structs.replace(started, adopts=adopts), spec)

    async def _started(
        self, workspace: Path, spec: AgentSpec, mode: ReviewMode, *, reads_only: bool
    ) -> SessionStarted:
        """The first event of a session. InvalidInput if the mode does not work in the folder."""
        folder = await within_deadline(lambda: resolve_workspace(workspace))
        await self._ports.reviews.check(Path(folder), mode)
        return SessionStarted(
            workspace=folder,
            agent=spec.name,
            agent_command=spec.command,
            mode=mode,
            reads_only=reads_only,
            continued=False,
            portico_version=self._ports.version,
        )

    async def adopt(
        self, workspace: Path, spec: AgentSpec, agent_session_id: str, *, reads_only: bool = False
    ) -> tuple[SessionId, int]:
        """Start a session from a conversation that the agent had without Portico, and import its history.

        Returns the session's id and the seq of the `session_started` after the imported events.
        """
        session_id = await self.start(workspace, spec, reads_only=reads_only, adopts=agent_session_id)
        runtime = self.session(session_id).runtime
        try:
            await adopt(runtime, agent_session_id)
            await runtime.journal.commit(runtime.started_event())
            newest = await self._ports.store.tail(session_id, before_seq=None, limit=_NEWEST)
        except BaseException:
            await self.delete(session_id)
            raise
        return session_id, max(event.seq for event in newest if isinstance(event.payload, SessionStarted))

    async def fork(self, session_id: SessionId) -> SessionId:
        """Copy a session as it is now. SessionBusy in the middle of a turn."""
        if (session := self.find_session(session_id)) is not None:
            await session.record()
        return await fork(self._ports, await self.show(session_id))

    async def branch(self, session_id: SessionId, seq: int) -> SessionId:
        """Copy a session up to a prompt, to send another one in its place. InvalidInput if there is none at `seq`."""
        return await branch(self._ports, await self.show(session_id), seq)

    async def branches(self, session_id: SessionId) -> list[BranchPoint]:
        """The prompts of a session that were edited, and the sessions with the other versions."""
        return await find_branches(self._ports.store, await self.show(session_id))

    async def hand_off(
        self, session_id: SessionId, spec: AgentSpec, *, mode: ReviewMode | None = None
    ) -> SessionId:
        """Start a session that continues this one with another agent, in the same folder.

        Its first prompt brings a summary of this session. SessionBusy in the middle of a turn, and while another
        process has the session open.
        """
        if (session := self.find_session(session_id)) is not None:
            await session.record()
        elif await self._open.is_elsewhere(session_id):
            raise SessionBusy.open_elsewhere(session_id)
        source = await self.show(session_id)
        if source.state.active:
            raise SessionBusy.in_turn(session_id)
        mode = mode or source.mode
        started = await self._started(Path(source.workspace), spec, mode, reads_only=source.reads_only)
        mark = continued_from(source, mode, await summarize_session(self._ports.store, source))
        more: list[AnyPayload] = [TitleUpdated(title=title_of(source)), mark]
        if source.components != SessionComponents():
            more.append(ComponentsUpdated(on=source.components.on, off=source.components.off))
        continuation = await self._open.begin(started, spec, *more)
        try:
            await self.record(session_id, continued_with(spec.name, continuation))
            draft = SessionDraft(draft=FIRST_DRAFT, revision=self._ports.clock.now_ms())
            await self._ports.store.save_drafts(continuation, draft)
        except BaseException:
            await self.delete(continuation)
            raise
        return continuation

    async def reopen(self, session_id: SessionId, spec: AgentSpec) -> int:
        """Open a session from the log, to continue it; the seq of the `session_started` this adds."""
        if self.find_session(session_id) is not None:
            return await self._open.reopen(session_id, spec)
        missing = await find_missing_marks(self._ports.store, session_id)
        seq = await self._open.reopen(session_id, spec)
        for one in missing:
            with suppress(SessionBusy):  # It gets its mark when it is next opened.
                await self.record(one.session_id, one.mark)
        return seq

    async def watch(self, session_id: SessionId, *, after_seq: int) -> AsyncGenerator[Event]:
        """Every event after `after_seq`, each once and in order, by any process.

        Ends when the session is deleted or this host closes. InvalidInput if the log does not go that far.
        """
        store, clock = self._ports.store, self._ports.clock
        session = self.find_session(session_id)
        if session is None or after_seq > session.last_seq:
            check_after_seq(await self.show(session_id), after_seq)
        while not self._closing:
            session = self.find_session(session_id)
            if session is not None:
                events = watch_journal(session.runtime.journal, store, after_seq=after_seq)
            else:
                events = watch_store(
                    session_id,
                    store,
                    clock,
                    after_seq=after_seq,
                    until=lambda: self._closing or self.find_session(session_id) is not None,
                )
            async with aclosing(events):
                async for event in events:
                    yield event
                    after_seq = event.seq
            if session is None and self.find_session(session_id) is None:
                return

    async def view(self, session_id: SessionId) -> SessionView:
        """Everything a door shows of a session besides its timeline."""
        store = self._ports.store
        summary = await self.show(session_id)
        view = SessionView(
            summary=summary,
            standing=tuple(event.payload for event in await store.standing(session_id)),
            open_elsewhere=await self._open.is_elsewhere(session_id),
        )
        session = self.find_session(session_id)
        return view if session is None else with_agent_state(view, session.runtime)

    async def components(self, session_id: SessionId) -> Sequence[ComponentStatus]:
        """The components that the session can have in its chain, with their state."""
        catalog = self._ports.components
        if catalog is None:
            return ()
        summary, session = await self.show(session_id), self.find_session(session_id)
        connection = None if session is None else session.runtime.connection
        agent = acp.AgentCapabilities() if connection is None else connection.info.agent_capabilities
        return await catalog.statuses(Path(summary.workspace), summary.components, agent)

    async def record(self, session_id: SessionId, *payloads: AnyPayload) -> None:
        """Write events outside of a turn to a session's log. SessionBusy if another process has the session open."""
        if (session := self.find_session(session_id)) is not None:
            await session.record(*payloads)
            return
        lease = await self._open.lease(session_id)
        try:
            await append_events(self._ports.store, self._ports.clock, session_id, payloads)
        finally:
            lease.release()

    async def write_todos(self, session_id: SessionId, todos: Sequence[TodoItem]) -> None:
        """Replace the to-do list with the person's. SessionBusy if another process has the session open."""
        if (session := self.find_session(session_id)) is not None:
            await session.write_todos(todos)
        else:
            await self.record(session_id, TodosUpdated(todos=tuple(todos)))

    async def show(self, session_id: SessionId) -> SessionSummary:
        return await show(self._ports.store, session_id)

    async def check_delete(self, session_id: SessionId) -> None:
        """InvalidInput, naming what would be lost, while a session has open proposals."""
        await self._ports.reviews.check_deletable(session_id)

    async def delete(self, session_id: SessionId, *, discard_proposals: bool = False) -> None:
        """Delete a session permanently. SessionBusy while another process has it open.

        Open proposals are deleted only with `discard_proposals`. A running agent deletes its side too, unless the
        conversation was adopted from it.
        """
        summary = await self.show(session_id)
        if not discard_proposals:
            await self.check_delete(session_id)
        if (session := self._open.take(session_id)) is not None:
            (first,) = await self._ports.store.read(session_id, after_seq=0, limit=1)
            adopted = isinstance(first.payload, SessionStarted) and first.payload.adopts
            await session.close(forget=session.runtime.agent_session_id != adopted)
        lease = await self._open.lease(session_id)
        try:
            await self._ports.reviews.forget(session_id, Path(summary.workspace))
            await self._ports.store.delete(session_id)
            self.pending_events.take(session_id)
        finally:
            lease.release()

    async def release(self, session_id: SessionId) -> None:
        """Close a session and its agent, so that another process can open it. Does nothing in the middle of a turn."""
        session = self.find_session(session_id)
        if session is not None and not session.is_busy:
            self._open.take(session_id)
            await session.close()

    async def close_lost(self) -> list[SessionId]:
        """Close the sessions that another process has taken over, with their agents; returns them."""
        lost = [one for one in self._open.ids() if self.session(one).runtime.has_lost_lease]
        for session_id in lost:
            if (session := self._open.take(session_id)) is not None:
                await session.close()
        return lost

    async def close(self) -> None:
        """Stop all turns, end every agent and write what is left."""
        self._closing = True
        for session in self._open.take_all():
            await session.close()
