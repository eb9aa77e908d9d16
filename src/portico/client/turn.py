"""Follows one turn to its end: shows its events, answers its requests, stops it on Ctrl-C.

The first Ctrl-C stops the turn, the second ends the agent at once. Ctrl-\\ stops the tool call that began last of
those that can be stopped alone, and nothing if there is none. Other signals that end this command stop only its own
turns.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from portico.client.client_session import ClientSession, ClientTurn
from portico.domain.errors import InvalidInput
from portico.domain.events import (
    Event,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    ToolCompleted,
    ToolStarted,
)
from portico.processes.signals import END_SIGNALS, QUIT_SIGNALS, on_signals
from portico.processes.tasks import cancel_and_wait
from portico.sessions.requests.approver import Approver
from portico.sessions.requests.questions import DECLINED_UNATTENDED

ShowEvent = Callable[[Event], Awaitable[None]]
Inquiry = PermissionRequested | QuestionAsked


async def follow_turn(
    session: ClientSession,
    turn: ClientTurn,
    *,
    after_seq: int,
    show: ShowEvent,
    approver: Approver,
    on_end_signal: Callable[[], object] = lambda: None,
) -> int:
    """Show every event after `after_seq` up to the end of a turn; returns the seq of the last one.

    A turn that cannot start shows nothing and raises. `on_end_signal` is called for a signal that should end the
    whole command.
    """
    running = asyncio.create_task(turn.run(), name="the turn")
    tools = _StoppableTools(session)
    shown = asyncio.create_task(
        _show_turn(session, turn, tools, after_seq=after_seq, show=show, approver=approver),
        name="showing the turn",
    )
    try:
        async with _stopped_by_signals(turn, on_end_signal), on_signals(tools.stop_latest, QUIT_SIGNALS):
            await asyncio.wait((running, shown), return_when=asyncio.FIRST_EXCEPTION)
            if running.done() and running.exception() is None:
                return await shown
            if shown.done() and (failure := shown.exception()) is not None:
                if turn.is_ours:
                    turn.stop(force=True)
                await asyncio.wait((running,))
                raise failure
            await running
            return await shown
    finally:
        await cancel_and_wait(running, shown, *tools.stops)


class _StoppableTools:
    """Running tool calls of a turn that can be stopped alone."""

    def __init__(self, session: ClientSession) -> None:
        self.stops: set[asyncio.Task[None]] = set()
        self._session = session
        self._running: list[str] = []

    def take(self, event: Event) -> None:
        match event.payload:
            case ToolStarted(tool_id=tool_id, stoppable=True):
                self._running.append(tool_id)
            case ToolCompleted(tool_id=tool_id) if tool_id in self._running:
                self._running.remove(tool_id)
            case _:
                pass

    def stop_latest(self) -> None:
        if self._running:
            stop = self._session.stop_tool(self._running.pop())
            task = asyncio.create_task(stop, name="stopping a tool call")
            self.stops.add(task)
            task.add_done_callback(self.stops.discard)


async def _show_turn(
    session: ClientSession,
    turn: ClientTurn,
    tools: _StoppableTools,
    *,
    after_seq: int,
    show: ShowEvent,
    approver: Approver,
) -> int:
    held: list[Event] | None = []
    events = turn.events(after_seq=after_seq)
    async with aclosing(events), _OpenRequests(session, approver) as requests:
        async for event in events:
            after_seq = event.seq
            tools.take(event)
            if held is not None:
                held.append(event)
                if not isinstance(event.payload, PromptSubmitted):
                    continue
            for one in held or [event]:
                await show(one)
            held = None
            match event.payload:
                case PermissionRequested() | QuestionAsked() as inquiry:
                    requests.ask(inquiry)
                case PermissionResolved(request_id=request_id) | QuestionAnswered(request_id=request_id):
                    requests.withdraw(request_id)
                case _:
                    pass
    return after_seq


class _OpenRequests:
    """Puts open requests to the person, side by side, and withdraws those that are answered elsewhere."""

    def __init__(self, session: ClientSession, approver: Approver) -> None:
        self._session = session
        self._approver = approver
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for question in self._asked.values():
            question.cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    def ask(self, request: Inquiry) -> None:
        question = _answered(self._session, request, self._approver)
        self._asked[request.request_id] = self._group.create_task(question, name="a question")

    def withdraw(self, request_id: str) -> None:
        if (question := self._asked.pop(request_id, None)) is not None:
            question.cancel()


async def _answered(session: ClientSession, request: Inquiry, approver: Approver) -> None:
    with suppress(InvalidInput):  # the turn was stopped, or another client answered first
        if isinstance(request, PermissionRequested):
            await session.decide(request.request_id, await approver.decide(request))
            return
        reply = await approver.reply(request)
        try:
            await session.answer(request.request_id, reply)
        except InvalidInput:
            await session.answer(request.request_id, DECLINED_UNATTENDED)
            raise


@asynccontextmanager
async def _stopped_by_signals(turn: ClientTurn, on_end_signal: Callable[[], object]) -> AsyncIterator[None]:
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        turn.stop(force=asked > 1)

    def end() -> None:
        on_end_signal()
        stop()

    async with on_signals(stop, (signal.SIGINT,)), on_signals(end, END_SIGNALS if turn.is_ours else ()):
        yield
