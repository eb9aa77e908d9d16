"""Runs turns for doors that come and go: a turn goes on when its caller leaves, and prompts wait in line.

A queued prompt is sent when the turn before it was completed. After a stop, a failure or a crash the
line stands still until the person sends again, because what it was meant for may not be true any more.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from portico.domain.desks import QueuedPrompt
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import Event, PromptSubmitted, TurnEnded
from portico.domain.ids import SessionId
from portico.domain.summaries import SessionSummary
from portico.domain.turns import TurnState
from portico.sessions.deadlines import put_down
from portico.sessions.desks import Desks
from portico.sessions.ports import AgentSpec
from portico.sessions.service import SessionService, ends_turn
from portico.sessions.turn import Prompt

log = logging.getLogger(__name__)

AgentOf = Callable[[SessionSummary], AgentSpec]
"""How to start the agent of a session that is in the log."""

_LINE_MOVES_AFTER = (TurnState.COMPLETED, TurnState.IDLE)


class Dispatcher:
    def __init__(self, service: SessionService, desks: Desks, agent_of: AgentOf) -> None:
        self._service = service
        self._desks = desks
        self._agent_of = agent_of
        self._opening: dict[SessionId, asyncio.Lock] = {}
        self._lines: dict[SessionId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def open(self, session_id: SessionId) -> None:
        """Have the session in this process. SessionBusy while another one has it."""
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            if not self._service.is_open(session_id):
                summary = await self._service.show(session_id)
                await self._service.reopen(session_id, self._agent_of(summary))

    def warm(self, session_id: SessionId) -> None:
        """Start the agent in the background. What goes wrong is told by the first turn."""
        self._own(self._warm(session_id), name=f"starting the agent of {session_id}")

    async def send(self, session_id: SessionId, prompt: Prompt) -> AsyncIterator[Event]:
        """Begin a turn and tell its events. Raises what kept it from beginning; nothing is sent then."""
        await self.open(session_id)
        opening = await self._begin(session_id, prompt, wait_for_tree=False)
        async for event in self._rest(session_id, opening):
            yield event

    async def send_queued(self, session_id: SessionId, prompt_id: str) -> AsyncIterator[Event]:
        """Send a prompt that waits, now."""
        desk = await self._desks.get(session_id)
        queued = next((one for one in desk.queue if one.prompt_id == prompt_id), None)
        if queued is None:
            raise InvalidInput("That prompt does not wait any more.")
        await self.open(session_id)
        opening = await self._begin(session_id, _prompt(queued), wait_for_tree=False)
        async for event in self._rest(session_id, opening):
            yield event

    async def resume(self, session_id: SessionId) -> None:
        """Open a session and bring its agent back; an interrupted turn is told to the log as resumed."""
        await self.open(session_id)
        summary = await self._service.show(session_id)
        if summary.state is TurnState.INTERRUPTED:
            await asyncio.shield(self._own(self._service.resume(session_id), name=f"resuming {session_id}"))
        else:
            await self._service.connect(session_id)

    async def enqueue(self, session_id: SessionId, prompt: Prompt) -> QueuedPrompt:
        """Put a prompt in line behind the turn that is under way."""
        queued = await self._desks.enqueue(session_id, prompt.text, prompt.blocks)
        self._move_line(session_id)
        return queued

    async def follow_queued(self, session_id: SessionId, prompt_id: str) -> AsyncIterator[Event]:
        """The events of a queued prompt's turn, once it comes."""
        summary = await self._service.show(session_id)
        async for event in self._service.watch(session_id, after_seq=summary.last_seq):
            if isinstance(event.payload, PromptSubmitted) and event.payload.prompt_id == prompt_id:
                async for one in self._rest(session_id, event):
                    yield one
                return

    async def close(self) -> None:
        """End what runs. Turns under way are interrupted, and say so in the log."""
        await put_down(*self._lines.values())
        await put_down(*self._tasks)

    async def _begin(self, session_id: SessionId, prompt: Prompt, *, wait_for_tree: bool) -> Event:
        """Start a turn that nobody needs to wait for; its prompt, once that is in the log."""
        summary = await self._service.show(session_id)
        turn = self._own(
            self._service.prompt(session_id, prompt, wait_for_tree=wait_for_tree),
            name=f"turn of {session_id}",
        )
        turn.add_done_callback(lambda ended: self._after(session_id, ended))
        first = self._own(self._first(session_id, summary.last_seq), name=f"the prompt of {session_id}")
        try:
            await asyncio.wait((turn, first), return_when=asyncio.FIRST_COMPLETED)
            if turn.done() and not turn.cancelled() and (failure := turn.exception()) is not None:
                raise failure
            opening: Event = await first
        finally:
            first.cancel()
        if prompt.prompt_id is not None:
            await self._desks.take_out(session_id, prompt.prompt_id)
        return opening

    async def _first(self, session_id: SessionId, after_seq: int) -> Event:
        async for event in self._service.watch(session_id, after_seq=after_seq):
            if isinstance(event.payload, PromptSubmitted):
                return event
        raise InvalidInput("Portico is shutting down; the prompt was not sent.")

    async def _rest(self, session_id: SessionId, opening: Event) -> AsyncIterator[Event]:
        yield opening
        async for event in self._service.watch(session_id, after_seq=opening.seq):
            yield event
            if ends_turn(event):
                return

    def _after(self, session_id: SessionId, ended: "asyncio.Task[TurnEnded]") -> None:
        if not ended.cancelled() and ended.exception() is None:
            self._move_line(session_id)

    def _move_line(self, session_id: SessionId) -> None:
        """Send the next that waits, if nothing is under way."""
        if session_id in self._lines or self._service.is_busy(session_id):
            return
        line = asyncio.create_task(self._send_next(session_id), name=f"the line of {session_id}")
        self._lines[session_id] = line
        line.add_done_callback(lambda _: self._lines.pop(session_id, None))

    async def _send_next(self, session_id: SessionId) -> None:
        try:
            summary = await self._service.show(session_id)
            desk = await self._desks.get(session_id)
            if not desk.queue or summary.state not in _LINE_MOVES_AFTER:
                return
            await self.open(session_id)
            await self._begin(session_id, _prompt(desk.queue[0]), wait_for_tree=True)
        except PorticoError as error:
            log.warning("a queued prompt of %s was not sent: %s", session_id, error.message)

    async def _warm(self, session_id: SessionId) -> None:
        try:
            await self.open(session_id)
            await self._service.connect(session_id)
        except PorticoError as error:
            log.info("the agent of %s was not started ahead: %s", session_id, error.message)

    def _own(self, work: "Coroutine[Any, Any, Any]", *, name: str) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _prompt(queued: QueuedPrompt) -> Prompt:
    return Prompt(text=queued.text, blocks=queued.blocks, prompt_id=queued.prompt_id)
