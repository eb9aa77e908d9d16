"""Queue of prompts per session; runs one turn at a time, also after the caller has left.

A queued prompt is sent when the turn before it was completed. After a stop, a failure or a crash the
line stands still until the person sends again or resumes, because what it was meant for may not be
true any more. A prompt that waited is sent once: it leaves the line only when the log has it, and
nobody else sends it meanwhile. What a crash leaves in both is sorted out by `housekeeping`.
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
from portico.sessions.drafts import Drafts
from portico.sessions.ports import AgentSpec
from portico.sessions.service import SessionService, ends_turn
from portico.sessions.tasks import cancel_and_wait
from portico.sessions.turn import TurnPrompt

log = logging.getLogger(__name__)

AgentOf = Callable[[SessionSummary], Awaitable[AgentSpec]]
"""How to start the agent of a session that is in the log."""
_Result = TypeVar("_Result")


class _StartedTurn(msgspec.Struct, frozen=True):
    """A turn that runs, and its prompt in the log."""

    opening: Event
    turn: "asyncio.Task[TurnEnded]"


class _WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt that waits, and its turn once it is sent; None if it never will be."""

    queued: QueuedPrompt
    begun: "asyncio.Future[_StartedTurn | None]"


class TurnQueue:
    def __init__(self, service: SessionService, desks: Drafts, agent_of: AgentOf) -> None:
        self._service = service
        self._desks = desks
        self._agent_of = agent_of
        self._open_locks: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._turns: dict[SessionId, asyncio.Task[TurnEnded]] = {}
        self._lines: dict[SessionId, asyncio.Task[None]] = {}
        self._recheck: set[SessionId] = set()
        self._claimed: dict[str, bool] = {}
        """Prompts that leave the line just now, and whether the log has them already."""
        self._waiters: dict[str, asyncio.Future[_StartedTurn | None]] = {}
        self._leaving: set[SessionId] = set()
        self._outdated: set[SessionId] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finishing: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def open(self, session_id: SessionId) -> None:
        """Have the session in this process. SessionBusy while another one has it."""
        async with self._open_lock(session_id):
            self._refuse_closing(session_id)
            if not self._service.is_open(session_id):
                summary = await self._service.show(session_id)
                await self._service.reopen(session_id, await self._agent_of(summary))
                self._outdated.discard(session_id)
            elif session_id in self._outdated and session_id not in self._turns:
                summary = await self._service.show(session_id)
                if await self._service.renew_agent(session_id, await self._agent_of(summary)):
                    self._outdated.discard(session_id)

    def mark_agents_outdated(self) -> None:
        """What agents find in their environment has changed: those that run get it before their next turn."""
        self._outdated.update(self._service.open_sessions())

    def occupied(self, session_id: SessionId) -> bool:
        """Whether a turn of it is under way here, or about to be."""
        return session_id in self._turns or session_id in self._lines

    def warm(self, session_id: SessionId) -> None:
        """Start the agent in the background. What goes wrong is told by the first turn."""
        self._own(self._warm(session_id), name=f"starting the agent of {session_id}")

    async def send(
        self, session_id: SessionId, prompt: TurnPrompt, *, queue: bool = False
    ) -> AsyncGenerator[Event | QueuedPrompt]:
        """Begin a turn and tell its events, whoever stays to hear them.

        With `queue` it waits for the turn that is under way, here or in the same folder, and says so
        first. Raises what kept the turn from beginning; nothing is sent then. Raises as well what keeps the log
        from being told how the turn ended.
        """
        prompt.require_content()
        sent = await self._run_detached(
            self._send_or_queue(session_id, prompt, queue=queue), name=f"sending to {session_id}"
        )
        begun: _StartedTurn | None
        if isinstance(sent, _WaitingPrompt):
            yield sent.queued
            begun = await sent.begun
        else:
            begun = sent
        if begun is not None:
            async for event in self._rest(session_id, begun):
                yield event

    async def send_queued(
        self, session_id: SessionId, prompt_id: str
    ) -> AsyncGenerator[Event | QueuedPrompt]:
        """Send a prompt that waits, now."""
        begun = await self._run_detached(
            self._send_waiting(session_id, prompt_id, wait_for_tree=False), name=f"sending to {session_id}"
        )
        async for event in self._rest(session_id, begun):
            yield event

    async def remove(self, session_id: SessionId, prompt_id: str) -> None:
        """Take a prompt out of the line. One that waits for its folder is given up; one that was sent stays sent."""
        await self._desks.remove_queued(session_id, prompt_id)
        if self._claimed.get(prompt_id) is False and self._service.is_busy(session_id):
            self._service.stop(session_id)
        self._tell(prompt_id, None)

    async def resume(self, session_id: SessionId) -> None:
        """Open a session and bring its agent back; an interrupted turn is told to the log as resumed."""
        await self.open(session_id)
        summary = await self._service.show(session_id)
        if summary.state is TurnState.INTERRUPTED:
            await asyncio.shield(self._take_turn(session_id, self._service.resume(session_id)))
        else:
            await self._service.connect(session_id)

    async def release(self, session_id: SessionId) -> None:
        """Let go of a session and its agent, unless it is in use."""
        await self.run_to_completion(self._release(session_id), name=f"letting go of {session_id}")

    async def delete(self, session_id: SessionId, *, discard_proposals: bool = False) -> None:
        """Remove a session for good, with all that is under way in it. SessionBusy if another process has it.

        One that still proposes something is left alone, with InvalidInput, unless that may be discarded.
        """
        if not discard_proposals:
            await self._service.check_delete(session_id)
        deleting = self._delete(session_id, discard_proposals=discard_proposals)
        await self.run_to_completion(deleting, name=f"deleting {session_id}")

    async def run_to_completion(self, work: "Coroutine[Any, Any, _Result]", *, name: str) -> _Result:
        """Do what must not be left half done. It goes on when its caller leaves, and when everything ends."""
        return await asyncio.shield(self._finish(work, name=name))

    async def close(self) -> None:
        """End what runs. Turns under way are interrupted, and say so in the log."""
        self._closing = True
        while self._tasks:
            await asyncio.gather(*self._finishing, return_exceptions=True)
            await cancel_and_wait(*self._tasks)

    async def _release(self, session_id: SessionId) -> None:
        async with self._open_lock(session_id):
            if not self.occupied(session_id):
                await self._service.release(session_id)

    async def _delete(self, session_id: SessionId, *, discard_proposals: bool) -> None:
        self._leaving.add(session_id)
        try:
            if (line := self._lines.get(session_id)) is not None:
                await cancel_and_wait(line)
            if (turn := self._turns.get(session_id)) is not None:
                if self._service.is_busy(session_id):
                    self._service.stop(session_id)
                await asyncio.wait((turn,))
            async with self._open_lock(session_id):
                waiting = (await self._desks.get(session_id)).queue
                await self._service.delete(session_id, discard_proposals=discard_proposals)
        finally:
            self._leaving.discard(session_id)
        for queued in waiting:
            self._tell(queued.prompt_id, None)

    async def _send_or_queue(
        self, session_id: SessionId, prompt: TurnPrompt, *, queue: bool
    ) -> _StartedTurn | _WaitingPrompt:
        await self.open(session_id)
        if queue and (ending := self._turns.get(session_id)) and self._service.is_ending(session_id):
            # Behind a turn that is stopped a line stands still; what is said after the stop is not meant to.
            await asyncio.wait((ending,))
        if not (queue and self.occupied(session_id)):
            try:
                return await self._begin(session_id, prompt, wait_for_tree=False)
            except SessionBusy:
                if not queue:
                    raise
        queued = QueuedPrompt(
            prompt_id=secrets.token_hex(8),
            text=prompt.text,
            blocks=prompt.blocks,
            after_seq=self._service.written(session_id),
        )
        begun = self._waiters[queued.prompt_id] = asyncio.get_running_loop().create_future()
        try:
            await self._desks.enqueue(session_id, queued)
        except BaseException:
            del self._waiters[queued.prompt_id]
            raise
        self._advance_queue(session_id)
        return _WaitingPrompt(queued, begun)

    async def _send_waiting(
        self, session_id: SessionId, prompt_id: str, *, wait_for_tree: bool
    ) -> _StartedTurn:
        """Send a prompt that waits. Claimed before the line is looked at, so no two find it there."""
        if prompt_id in self._claimed:
            raise _no_longer_queued()
        self._claimed[prompt_id] = False
        try:
            await self.open(session_id)
            line = (await self._desks.get(session_id)).queue
            queued = next((one for one in line if one.prompt_id == prompt_id), None)
            if queued is None:
                raise _no_longer_queued()
            prompt = TurnPrompt(text=queued.text, blocks=queued.blocks, prompt_id=prompt_id)
            begun = await self._begin(session_id, prompt, wait_for_tree=wait_for_tree)
        except BaseException:
            del self._claimed[prompt_id]
            raise
        self._claimed[prompt_id] = True
        self._tell(prompt_id, begun)
        await self._desks.remove_queued(session_id, prompt_id)
        # Not if that failed: then the line has it still, and it must not be sent again.
        del self._claimed[prompt_id]
        return begun

    async def _begin(self, session_id: SessionId, prompt: TurnPrompt, *, wait_for_tree: bool) -> _StartedTurn:
        """Start a turn that nobody needs to wait for; its prompt, once that is in the log."""
        after_seq = self._service.written(session_id)
        turn = self._take_turn(
            session_id, self._service.prompt(session_id, prompt, wait_for_tree=wait_for_tree)
        )
        first = self._own(self._first(session_id, after_seq), name=f"the prompt of {session_id}")
        try:
            await asyncio.wait((turn, first), return_when=asyncio.FIRST_COMPLETED)
            if not first.done() and (turn.cancelled() or turn.exception() is not None):
                turn.result()
            return _StartedTurn(await first, turn)
        finally:
            await cancel_and_wait(first)

    def _take_turn(
        self, session_id: SessionId, work: "Coroutine[Any, Any, TurnEnded]"
    ) -> "asyncio.Task[TurnEnded]":
        """Run the only turn of a session. SessionBusy, at once, if there is one."""
        if session_id in self._turns or self._closing:
            work.close()
            raise SessionBusy(
                f"Session {session_id} is in the middle of a turn.",
                suggestion="Wait for it, or stop it first.",
            )
        turn = self._own(self._run_turn(session_id, work), name=f"turn of {session_id}")
        self._turns[session_id] = turn
        return turn

    async def _run_turn(self, session_id: SessionId, work: "Coroutine[Any, Any, TurnEnded]") -> TurnEnded:
        try:
            ended = await work
        finally:
            del self._turns[session_id]
        if ended.state is TurnState.COMPLETED:
            self._advance_queue(session_id)
        return ended

    async def _first(self, session_id: SessionId, after_seq: int) -> Event:
        """The prompt of the turn that was begun there: a session has one turn at a time."""
        async for event in self._service.watch(session_id, after_seq=after_seq):
            if isinstance(event.payload, PromptSubmitted):
                return event
        raise SessionNotFound("The session is gone; the prompt was not sent.")

    async def _rest(self, session_id: SessionId, begun: _StartedTurn) -> AsyncGenerator[Event]:
        event: Event | None = begun.opening
        async with aclosing(self._service.watch(session_id, after_seq=begun.opening.seq)) as events:
            while event is not None:
                yield event
                if ends_turn(event):
                    return
                event = await self._next(events, begun.turn, after=event)

    async def _next(
        self, events: AsyncGenerator[Event], turn: "asyncio.Task[TurnEnded]", *, after: Event
    ) -> Event | None:
        """The next event, or None at the end. A turn that broke off raises why, if the log has no more of it."""
        upcoming = asyncio.create_task(_next_event(events), name=f"the next event of {after.session_id}")
        try:
            await asyncio.wait((upcoming, turn), return_when=asyncio.FIRST_COMPLETED)
            failure = turn.exception() if turn.done() and not turn.cancelled() else None
            is_open = self._service.is_open(after.session_id)
            if failure is not None and is_open and self._service.written(after.session_id) <= after.seq:
                raise failure
            return await upcoming
        finally:
            await cancel_and_wait(upcoming)

    def _advance_queue(self, session_id: SessionId) -> None:
        """Send the next that waits, if nothing is under way."""
        if self._closing or session_id in self._turns:
            return
        if session_id in self._lines:
            self._recheck.add(session_id)
        else:
            self._lines[session_id] = self._own(self._drain_queue(session_id), name=f"line of {session_id}")

    async def _drain_queue(self, session_id: SessionId) -> None:
        try:
            while True:
                self._recheck.discard(session_id)
                await self._send_next(session_id)
                if session_id not in self._recheck:
                    return
        finally:
            del self._lines[session_id]

    async def _send_next(self, session_id: SessionId) -> None:
        try:
            line = (await self._desks.get(session_id)).queue
            waiting = [one.prompt_id for one in line if one.prompt_id not in self._claimed]
            if waiting:
                await self._send_waiting(session_id, waiting[0], wait_for_tree=True)
        except PorticoError as error:
            log.warning("a queued prompt of %s was not sent: %s", session_id, error.message)

    def _tell(self, prompt_id: str, begun: _StartedTurn | None) -> None:
        """Tell whoever put a prompt in line what became of it."""
        told = self._waiters.pop(prompt_id, None)
        if told is not None and not told.done():
            told.set_result(begun)

    async def _warm(self, session_id: SessionId) -> None:
        try:
            await self.open(session_id)
            await self._service.connect(session_id)
        except PorticoError as error:
            log.info("the agent of %s was not started ahead: %s", session_id, error.message)

    def _open_lock(self, session_id: SessionId) -> asyncio.Lock:
        """Held while a session is opened or let go of."""
        return self._open_locks.setdefault(session_id, asyncio.Lock())

    def _refuse_closing(self, session_id: SessionId) -> None:
        if session_id in self._leaving:
            raise SessionNotFound(f"Session {session_id} is being deleted.")
        if self._closing:
            raise SessionBusy(
                "Portico is shutting down; nothing was sent.", suggestion="Try again in a moment."
            )

    async def _run_detached(self, work: "Coroutine[Any, Any, _Result]", *, name: str) -> _Result:
        """What the work comes to. It goes on when its caller leaves."""
        return await asyncio.shield(self._own(work, name=name))

    def _finish(self, work: "Coroutine[Any, Any, _Result]", *, name: str) -> "asyncio.Task[_Result]":
        """Do what must not be left half done, whoever asked for it and whatever ends."""
        task = self._own(work, name=name)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        return task

    def _own(self, work: "Coroutine[Any, Any, _Result]", *, name: str) -> "asyncio.Task[_Result]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._let_go)
        return task

    def _let_go(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Whoever stayed is told; for those who left, this is where it stands.
            log.info("%s: %s", task.get_name(), error)


async def _next_event(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


def _no_longer_queued() -> InvalidInput:
    return InvalidInput("That prompt does not wait any more.")
