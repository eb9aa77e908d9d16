"""The session service: everything a door can do with sessions, and nothing about doors.

It owns the sessions that are open in this process. The log is the only truth: what a door sees,
it reads from there.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from portico.domain.events import Event, SessionStarted, StateChanged, TurnEnded
from portico.domain.ids import SessionId, make_session_id
from portico.domain.summaries import SessionSummary, fold
from portico.domain.turns import TurnEvent, TurnState
from portico.sessions.deadlines import put_down
from portico.sessions.links import AgentLinks
from portico.sessions.live import LiveSession
from portico.sessions.permissions import Decision
from portico.sessions.ports import AgentSpec, Lease, Ports
from portico.sessions.recovery import interrupt, recover, session_lease
from portico.sessions.supervision import prepare, revive
from portico.sessions.turn import Prompt, Turn

PAGE = 500
TREE_POLL_SECONDS = 0.25


class _Open:
    """A live session with the task that writes its log, and the turn it is in."""

    def __init__(self, session: LiveSession, writing: "asyncio.Task[None]") -> None:
        self.session = session
        self.writing = writing
        self.turn: Turn | None = None
        self.reviving: asyncio.Task[None] | None = None

    async def stop_reviving(self) -> None:
        if self.reviving is not None:
            await put_down(self.reviving)
            self.reviving = None


class SessionService:
    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._links = AgentLinks(ports)
        self._open: dict[SessionId, _Open] = {}

    async def recover(self) -> list[SessionId]:
        """Interrupt turns whose host died. Call once, before anything else."""
        return await recover(self._ports.store, self._ports.clock)

    async def start(self, workspace: Path, spec: AgentSpec, *, reads_only: bool = False) -> SessionId:
        """Begin a new session. Its agent starts with the first prompt."""
        clock = self._ports.clock
        session_id = make_session_id(clock.now_ms(), os.urandom(8))
        lease = self._lease(session_id)
        started = self._started(_folder(workspace), spec, reads_only=reads_only, continued=False)
        first = Event(session_id=session_id, seq=1, turn_id=None, at=clock.now_ms(), payload=started)
        try:
            await self._ports.store.append([first], durable=True)
        except BaseException:
            lease.release()
            raise
        self._admit(LiveSession(fold(None, first), spec, lease, self._ports, self._links))
        return session_id

    async def reopen(self, session_id: SessionId, spec: AgentSpec) -> int:
        """Open a session from the log to go on with it; the seq of the `session_started` this adds."""
        if session_id in self._open:
            return self._open[session_id].session.journal.committed_seq
        lease = self._lease(session_id)
        try:
            await interrupt(self._ports.store, self._ports.clock, session_id)
            summary = await self.show(session_id)
            session = LiveSession(summary, spec, lease, self._ports, self._links)
            await session.journal.commit(
                self._started(summary.workspace, spec, reads_only=summary.reads_only, continued=True)
            )
        except BaseException:
            lease.release()
            raise
        self._admit(session)
        return session.journal.committed_seq

    async def connect(self, session_id: SessionId) -> None:
        """Start the agent before the first prompt, so that its commands are known and it answers sooner."""
        opened = self._live(session_id)
        if opened.turn is None:
            await prepare(opened.session)

    async def prompt(
        self, session_id: SessionId, prompt: Prompt, *, wait_for_tree: bool = False
    ) -> TurnEnded:
        """Run one turn to its end. SessionBusy if a turn is under way here or in this tree."""
        if not prompt.text.strip() and not prompt.blocks:
            raise InvalidInput("The prompt is empty.", suggestion="Say what you want, or try /help.")
        return await self._take_turn(session_id, prompt, wait_for_tree=wait_for_tree)

    async def resume(self, session_id: SessionId) -> TurnEnded:
        """Bring an interrupted session's agent back, without a prompt."""
        state = self._live(session_id).session.status.state
        if state is not TurnState.INTERRUPTED:
            raise InvalidInput(f"Session {session_id} is {state}, not interrupted; just send a prompt.")
        return await self._take_turn(session_id, None, wait_for_tree=False)

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

    def answer(self, session_id: SessionId, request_id: str, decision: Decision) -> None:
        """Answer a permission request."""
        self._live(session_id).session.answer(request_id, decision)

    async def watch(self, session_id: SessionId, *, after_seq: int) -> AsyncIterator[Event]:
        """Every event after `after_seq`, each once, in order, until the session is closed here."""
        journal = self._live(session_id).session.journal
        while True:
            page = journal.recent_after(after_seq)
            if not page and journal.committed_seq > after_seq:
                page = await self._ports.store.read(session_id, after_seq=after_seq, limit=PAGE)
            for event in page:
                yield event
                after_seq = event.seq
            if not page and not await journal.wait_beyond(after_seq):
                return

    async def show(self, session_id: SessionId) -> SessionSummary:
        summary = await self._ports.store.summary(session_id)
        if summary is None:
            raise SessionNotFound(
                f"There is no session {session_id}.", suggestion="See them all with: portico sessions list"
            )
        return summary

    async def find(self, abbreviation: str) -> SessionSummary:
        """The session whose id begins like this."""
        if not abbreviation:
            raise SessionNotFound(
                "The session's id is empty.", suggestion="See them all with: portico sessions list"
            )
        found = await self._ports.store.summaries(id_prefix=abbreviation, limit=2)
        exact = [summary for summary in found if summary.session_id == abbreviation]
        if len(found) > 1 and not exact:
            raise SessionNotFound(
                f"Several sessions begin with {abbreviation}.", suggestion="Give more of the id."
            )
        return (exact or found)[0] if found else await self.show(SessionId(abbreviation))

    async def latest(self, workspace: Path) -> SessionSummary:
        """The session last used in a folder."""
        found = await self._ports.store.summaries(workspace=_folder(workspace), limit=1)
        if not found:
            raise SessionNotFound(
                f"No session has been used in {workspace} yet.",
                suggestion="Leave out --continue to start one.",
            )
        return found[0]

    async def list(self, *, workspace: str | None = None, limit: int = 100) -> "list[SessionSummary]":
        return await self._ports.store.summaries(workspace=workspace, limit=limit)

    async def delete(self, session_id: SessionId) -> None:
        """Remove a session for good. SessionBusy while another process has it open."""
        await self.show(session_id)
        if session_id in self._open:
            await self._dismiss(self._open.pop(session_id))
        lease = self._lease(session_id)
        try:
            await self._ports.store.delete(session_id)
        finally:
            lease.release()

    async def close(self) -> None:
        """Stop what runs, end every agent, write what is left."""
        opened, self._open = list(self._open.values()), {}
        for one in opened:
            await self._dismiss(one)

    async def _take_turn(
        self, session_id: SessionId, prompt: Prompt | None, *, wait_for_tree: bool
    ) -> TurnEnded:
        opened = self._live(session_id)
        if opened.turn is not None:
            raise SessionBusy(
                f"Session {session_id} is in the middle of a turn.",
                suggestion="Wait for it, or stop it first.",
            )
        turn = opened.turn = Turn(opened.session, prompt)
        try:
            await opened.stop_reviving()
            tree = None
            if not opened.session.reads_only:
                tree = await self._tree_lease(opened.session, turn, wait=wait_for_tree)
            try:
                ended = await turn.run()
            finally:
                if tree is not None:
                    tree.release()
        finally:
            opened.turn = None
        if ended.state is TurnState.INTERRUPTED:
            opened.reviving = asyncio.create_task(revive(opened.session), name=f"reviving {session_id}")
        return ended

    async def _tree_lease(self, session: LiveSession, turn: Turn, *, wait: bool) -> Lease:
        name = f"tree {session.workspace}"
        while (lease := self._ports.store.lease(name, session.id)) is None:
            if not wait or turn.stopping:
                holder = self._ports.store.lease_holder(name) or "another session"
                raise SessionBusy(
                    f"Session {holder} is working in {session.workspace}.",
                    suggestion="Stop it, wait for it with --wait, work in a git worktree, or only read (--read-only).",
                )
            await self._ports.clock.sleep(TREE_POLL_SECONDS)
        return lease

    def _started(
        self, workspace: str, spec: AgentSpec, *, reads_only: bool, continued: bool
    ) -> SessionStarted:
        return SessionStarted(
            workspace=workspace,
            agent=spec.name,
            agent_command=spec.command,
            mode="direct",
            reads_only=reads_only,
            continued=continued,
            portico_version=self._ports.version,
        )

    def _lease(self, session_id: SessionId) -> Lease:
        lease = self._ports.store.lease(session_lease(session_id), "host")
        if lease is None:
            raise SessionBusy(
                f"Session {session_id} is open in another Portico process.",
                suggestion="Close it there first, or start a new session.",
            )
        return lease

    def _admit(self, session: LiveSession) -> None:
        writing = asyncio.create_task(session.journal.run(), name=f"writing the log of {session.id}")
        self._open[session.id] = _Open(session, writing)

    async def _dismiss(self, opened: _Open) -> None:
        if opened.turn is not None:
            opened.turn.stop(force=True)
        await opened.stop_reviving()
        await put_down(opened.writing)
        await opened.session.close()

    def _live(self, session_id: SessionId) -> _Open:
        opened = self._open.get(session_id)
        if opened is None:
            raise SessionNotFound(f"Session {session_id} is not open here.")
        return opened


def _folder(workspace: Path) -> str:
    if not workspace.is_dir():
        raise InvalidInput(f"{workspace} is not a folder.")
    return str(workspace.resolve())


def ends_turn(event: Event) -> bool:
    """Whether this event is the last of a turn."""
    payload = event.payload
    return isinstance(payload, StateChanged) and payload.previous.active and not payload.state.active
