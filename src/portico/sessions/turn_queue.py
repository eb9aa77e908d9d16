"""Turns and queued prompts of the sessions a server has open; a turn continues when its caller leaves.

A queued prompt is sent when the turn before it was completed. After a stop, a failure or a crash the queue stands
still until the person sends again or resumes, because what it was meant for may no longer be true. A queued prompt
is sent once: it leaves the queue only when the log has it, and is claimed meanwhile. `cleanup` removes those that a
crash left in both.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from portico.domain.drafts import QueuedPrompt
from portico.domain.errors import InvalidInput, PorticoError, SessionBusy, SessionNotFound
from portico.domain.events import Event, PromptSubmitted, TurnEnded
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.processes.tasks import OwnedTasks, cancel_and_wait
from portico.sessions.drafts import Drafts
from portico.sessions.log.watch import ends_turn
from portico.sessions.open_session import OpenSession
from portico.sessions.ports import AgentSpec
from portico.sessions.service import SessionService
from portico.sessions.turn import TurnPrompt

log = logging.getLogger(__name__)

FindAgent = Callable[[SessionSummary], Awaitable[AgentSpec]]
"""Finds the agent of a session that is in the log."""
_Result = TypeVar("_Result")


class _StartedTurn(msgspec.Struct, frozen=True):
    """A running turn, and its prompt in the log."""

    prompt: Event
    task: "asyncio.Task[TurnEnded]"


class _WaitingPrompt(msgspec.Struct, frozen=True):
    """A queued prompt, and its turn once it is sent; None if it is removed."""

    queued: QueuedPrompt
    started: "asyncio.Future[_StartedTurn | None]"


class TurnQueue:
    """Opens sessions when they are needed, runs their turns and sends their queued prompts."""

    def __init__(self, service: SessionService, drafts: Drafts, find_agent: FindAgent) -> None:
        self._service = service
        self._drafts = drafts
        self._find_agent = find_agent
        self._tasks = OwnedTasks()
        self._open_locks: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._senders: dict[SessionId, asyncio.Task[None]] = {}
        """Tasks that send the next queued prompt."""
        self._recheck: set[SessionId] = set()
        self._claimed: dict[str, bool] = {}
        """Queued prompts that are being sent, and whether the log has them already."""
        self._waiters: dict[str, asyncio.Future[_StartedTurn | None]] = {}
        self._deleting: set[SessionId] = set()
        self._outdated: set[SessionId] = set()
        """Open sessions whose agents have an old environment."""
        self._closing = False

    async def open(self, session_id: SessionId) -> OpenSession:
        """Open the session in this process. SessionBusy while another one has it."""
        async with self._open_lock(session_id):
            if session_id in self._deleting:
                raise SessionNotFound(f"Session {session_id} is being deleted.")
            if self._closing:
                raise SessionBusy(
                    "Portico is shutting down; nothing was sent.", suggestion="Try again in a moment."
                )
            session = self._service.find_session(session_id)
            if session is None:
                summary = await self._service.show(session_id)
                await self._service.reopen(session_id, await self._find_agent(summary))
                self._outdated.discard(session_id)
            elif session_id in self._outdated and not session.is_busy:
                summary = await self._service.show(session_id)
                if await session.renew_agent(await self._find_agent(summary)):
                    self._outdated.discard(session_id)
            return self._service.session(session_id)

    def mark_agents_outdated(self) -> None:
        """Restart every running agent before its next turn, because its environment has changed."""
        self._outdated.update(self._service.open_sessions())

    def has_turn(self, session_id: SessionId) -> bool:
        """Whether a turn of the session is running, or about to start."""
        session = self._service.find_session(session_id)
        return session_id in self._senders or (session is not None and session.is_busy)

    def start_agent_ahead(self, session_id: SessionId) -> None:
        """Start the agent in the background. The first turn reports what goes wrong."""
        self._tasks.start(self._start_agent(session_id), name=f"starting the agent of {session_id}")

    async def send(
        self, session_id: SessionId, prompt: TurnPrompt, *, queue: bool = False
    ) -> AsyncGenerator[Event | QueuedPrompt]:
        """Start a turn and yield its events; it continues when the caller leaves.

        With `queue` the prompt waits for the turn that is running, in the session or in the same folder, and the
        queued prompt is yielded first. Raises what kept the turn from starting; nothing is sent then. Raises as
        well what keeps the end of the turn from being logged.
        """
        prompt.require_content()
        sent = await self._tasks.run_detached(
            self._send_or_queue(session_id, prompt, queue=queue), name=f"sending to {session_id}"
        )
        started: _StartedTurn | None
        if isinstance(sent, _WaitingPrompt):
            yield sent.queued
            started = await sent.started
        else:
            started = sent
        if started is not None:
            async for event in self._follow(session_id, started):
                yield event

    async def send_queued(
        self, session_id: SessionId, prompt_id: str
    ) -> AsyncGenerator[Event | QueuedPrompt]:
        """Send a queued prompt now, in place of the session's current turn."""
        started = await self._tasks.run_detached(
            self._send_waiting(session_id, prompt_id, now=True), name=f"sending to {session_id}"
        )
        async for event in self._follow(session_id, started):
            yield event

    async def remove(self, session_id: SessionId, prompt_id: str) -> None:
        """Remove a queued prompt, also one that waits for its folder. One that was sent stays sent."""
        await self._drafts.remove_queued(session_id, prompt_id)
        session = self._service.find_session(session_id)
        if self._claimed.get(prompt_id) is False and session is not None:
            session.stop()
        self._resolve(prompt_id, None)

    async def resume(self, session_id: SessionId) -> None:
        """Open a session and start its agent; an interrupted turn is logged as resumed."""
        session = await self.open(session_id)
        summary = await self._service.show(session_id)
        if summary.state is TurnState.INTERRUPTED:
            await asyncio.shield(self._start_turn(session, None))
        else:
            await session.connect()

    async def release(self, session_id: SessionId) -> None:
        """Close a session and its agent, unless it has a turn."""
        await self.run_to_completion(self._release(session_id), name=f"releasing {session_id}")

    async def delete(self, session_id: SessionId, *, discard_proposals: bool = False) -> None:
        """Stop the session's turn and delete it permanently. SessionBusy if another process has it open.

        InvalidInput while it has open proposals, unless these may be discarded.
        """
        if not discard_proposals:
            await self._service.check_delete(session_id)
        deleting = self._delete(session_id, discard_proposals=discard_proposals)
        await self.run_to_completion(deleting, name=f"deleting {session_id}")

    async def run_to_completion(self, work: "Coroutine[Any, Any, _Result]", *, name: str) -> _Result:
        """The result of work that must not be left half done, also when its caller or this queue ends."""
        return await self._tasks.run_to_completion(work, name=name)

    async def close(self) -> None:
        """Interrupt the running turns, and log that."""
        self._closing = True
        await self._tasks.close()

    async def _start_agent(self, session_id: SessionId) -> None:
        try:
            await (await self.open(session_id)).connect()
        except PorticoError as error:
            log.info("the agent of %s was not started ahead: %s", session_id, error.message)

    async def _release(self, session_id: SessionId) -> None:
        async with self._open_lock(session_id):
            if not self.has_turn(session_id):
                await self._service.release(session_id)

    async def _delete(self, session_id: SessionId, *, discard_proposals: bool) -> None:
        self._deleting.add(session_id)
        try:
            if (sender := self._senders.get(session_id)) is not None:
                await cancel_and_wait(sender)
            session = self._service.find_session(session_id)
            if session is not None and (turn := session.turn_task) is not None:
                session.stop()
                await asyncio.wait((turn,))
            async with self._open_lock(session_id):
                waiting = (await self._drafts.get(session_id)).queue
                await self._service.delete(session_id, discard_proposals=discard_proposals)
        finally:
            self._deleting.discard(session_id)
        for queued in waiting:
            self._resolve(queued.prompt_id, None)

    async def _send_or_queue(
        self, session_id: SessionId, prompt: TurnPrompt, *, queue: bool
    ) -> _StartedTurn | _WaitingPrompt:
        session = await self.open(session_id)
        if queue and session.is_ending and (ending := session.turn_task) is not None:
            # The queue stands still behind a stopped turn; a prompt sent after the stop should not.
            await asyncio.wait((ending,))
        if not (queue and self.has_turn(session_id)):
            try:
                return await self._begin(session, prompt, wait_for_tree=False)
            except SessionBusy:
                if not queue:
                    raise
        queued = QueuedPrompt(
            prompt_id=secrets.token_hex(8),
            text=prompt.text,
            blocks=prompt.blocks,
            after_seq=session.last_seq,
        )
        started = self._waiters[queued.prompt_id] = asyncio.get_running_loop().create_future()
        try:
            await self._drafts.enqueue(session_id, queued)
        except BaseException:
            del self._waiters[queued.prompt_id]
            raise
        self._advance(session_id)
        return _WaitingPrompt(queued, started)

    async def _send_waiting(self, session_id: SessionId, prompt_id: str, *, now: bool) -> _StartedTurn:
        """Send a queued prompt, `now` in place of the current turn. It is claimed before the queue is read, so that it is sent once."""
        if prompt_id in self._claimed:
            raise _no_longer_queued()
        self._claimed[prompt_id] = False
        try:
            session = await self.open(session_id)
            queue = (await self._drafts.get(session_id)).queue
            queued = next((one for one in queue if one.prompt_id == prompt_id), None)
            if queued is None:
                raise _no_longer_queued()
            if now and (turn := session.turn_task) is not None:
                session.stop()
                await asyncio.wait((turn,))
            prompt = TurnPrompt(text=queued.text, blocks=queued.blocks, prompt_id=prompt_id)
            started = await self._begin(session, prompt, wait_for_tree=not now)
        except BaseException:
            del self._claimed[prompt_id]
            raise
        self._claimed[prompt_id] = True
        self._resolve(prompt_id, started)
        await self._drafts.remove_queued(session_id, prompt_id)
        # Not if that failed: the queue still has it then, and it must not be sent again.
        del self._claimed[prompt_id]
        return started

    async def _begin(self, session: OpenSession, prompt: TurnPrompt, *, wait_for_tree: bool) -> _StartedTurn:
        """Start a turn and wait until its prompt is in the log."""
        after_seq = session.last_seq
        turn = self._start_turn(session, prompt, wait_for_tree=wait_for_tree)
        logged = self._tasks.start(self._find_prompt(session.id, after_seq), name=f"prompt of {session.id}")
        try:
            await asyncio.wait((turn, logged), return_when=asyncio.FIRST_COMPLETED)
            if not logged.done() and (turn.cancelled() or turn.exception() is not None):
                turn.result()
            return _StartedTurn(await logged, turn)
        finally:
            await cancel_and_wait(logged)

    def _start_turn(
        self, session: OpenSession, prompt: TurnPrompt | None, *, wait_for_tree: bool = False
    ) -> "asyncio.Task[TurnEnded]":
        """Start a turn; the next queued prompt follows once it is completed."""
        if self._closing:
            raise SessionBusy.in_turn(session.id)

        def advance(ended: TurnEnded) -> None:
            if ended.state is TurnState.COMPLETED:
                self._advance(session.id)

        return self._tasks.adopt(session.start_turn(prompt, wait_for_tree=wait_for_tree, on_end=advance))

    async def _find_prompt(self, session_id: SessionId, after_seq: int) -> Event:
        """The first prompt logged after `after_seq`."""
        async for event in self._service.watch(session_id, after_seq=after_seq):
            if isinstance(event.payload, PromptSubmitted):
                return event
        raise SessionNotFound("The session was deleted, so the prompt was not sent.")

    async def _follow(self, session_id: SessionId, started: _StartedTurn) -> AsyncGenerator[Event]:
        event: Event | None = started.prompt
        async with aclosing(self._service.watch(session_id, after_seq=started.prompt.seq)) as events:
            while event is not None:
                yield event
                if ends_turn(event):
                    return
                event = await self._next(events, started.task, after=event)

    async def _next(
        self, events: AsyncGenerator[Event], turn: "asyncio.Task[TurnEnded]", *, after: Event
    ) -> Event | None:
        """The next event, or None at the end. Raises why a turn broke off, if the log has no more of it."""
        upcoming = asyncio.create_task(_next_event(events), name=f"the next event of {after.session_id}")
        try:
            await asyncio.wait((upcoming, turn), return_when=asyncio.FIRST_COMPLETED)
            failure = turn.exception() if turn.done() and not turn.cancelled() else None
            session = self._service.find_session(after.session_id)
            if failure is not None and session is not None and session.last_seq <= after.seq:
                raise failure
            return await upcoming
        finally:
            await cancel_and_wait(upcoming)

    def _advance(self, session_id: SessionId) -> None:
        """Send the next queued prompt, if no turn is running."""
        session = self._service.find_session(session_id)
        if self._closing or (session is not None and session.is_busy):
            return
        if session_id in self._senders:
            self._recheck.add(session_id)
        else:
            sending = self._send_next(session_id)
            self._senders[session_id] = self._tasks.start(sending, name=f"queue of {session_id}")

    async def _send_next(self, session_id: SessionId) -> None:
        try:
            while True:
                self._recheck.discard(session_id)
                try:
                    queue = (await self._drafts.get(session_id)).queue
                    waiting = [one.prompt_id for one in queue if one.prompt_id not in self._claimed]
                    if waiting:
                        await self._send_waiting(session_id, waiting[0], now=False)
                except PorticoError as error:
                    log.warning("a queued prompt of %s was not sent: %s", session_id, error.message)
                if session_id not in self._recheck:
                    return
        finally:
            del self._senders[session_id]

    def _resolve(self, prompt_id: str, started: _StartedTurn | None) -> None:
        """Report to the sender of a queued prompt that it was sent, or removed."""
        waiter = self._waiters.pop(prompt_id, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(started)

    def _open_lock(self, session_id: SessionId) -> asyncio.Lock:
        """Held while a session is opened or closed."""
        return self._open_locks.setdefault(session_id, asyncio.Lock())


async def _next_event(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


def _no_longer_queued() -> InvalidInput:
    return InvalidInput("This prompt is no longer queued.")
