"""Runs one turn for a command: shows its events, gets its questions answered, obeys Ctrl-C.

The first Ctrl-C stops the turn, the second ends the agent at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Self

from portico.cli.answering import Answerer
from portico.cli.interrupts import on_signals
from portico.domain.errors import InvalidInput
from portico.domain.events import (
    Event,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
)
from portico.domain.ids import SessionId
from portico.sessions.deadlines import put_down
from portico.sessions.questions import NOBODY_THERE
from portico.sessions.service import SessionService, ends_turn
from portico.sessions.turn import Prompt

Show = Callable[[Event], Awaitable[None]]
Inquiry = PermissionRequested | QuestionAsked


async def follow_turn(
    service: SessionService,
    session_id: SessionId,
    prompt: Prompt,
    *,
    after_seq: int,
    show: Show,
    answer: Answerer,
    wait_for_tree: bool = False,
) -> int:
    """Run a turn and show every event after `after_seq`; the seq of its last one.

    A turn that could not begin shows nothing and raises.
    """
    begun = asyncio.create_task(
        service.prompt(session_id, prompt, wait_for_tree=wait_for_tree), name="the turn"
    )
    shown = asyncio.create_task(
        _show_turn(service, session_id, after_seq=after_seq, show=show, answer=answer),
        name="showing the turn",
    )
    try:
        async with _stopped_by_signals(service, session_id):
            await asyncio.wait((begun, shown), return_when=asyncio.FIRST_EXCEPTION)
            if begun.done() and begun.exception() is None:
                return await shown
            if shown.done() and (failure := shown.exception()) is not None:
                service.stop(session_id, force=True)
                await asyncio.wait((begun,))
                raise failure
            await begun
            return await shown
    finally:
        await put_down(begun, shown)


async def _show_turn(
    service: SessionService, session_id: SessionId, *, after_seq: int, show: Show, answer: Answerer
) -> int:
    held: list[Event] | None = []
    async with _Questions(service, session_id, answer) as questions:
        async for event in service.watch(session_id, after_seq=after_seq):
            if held is not None:
                held.append(event)
                if not isinstance(event.payload, PromptSubmitted):
                    continue
            for one in held or [event]:
                await show(one)
            held = None
            match event.payload:
                case PermissionRequested() | QuestionAsked() as inquiry:
                    questions.ask(inquiry)
                case PermissionResolved(request_id=request_id) | QuestionAnswered(request_id=request_id):
                    questions.take_back(request_id)
                case _:
                    pass
            if ends_turn(event):
                return event.seq
    return after_seq


class _Questions:
    """Asks questions side by side. One that is settled elsewhere, or left at the end, is taken back."""

    def __init__(self, service: SessionService, session_id: SessionId, answer: Answerer) -> None:
        self._service = service
        self._session_id = session_id
        self._answer = answer
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
        question = _answered(self._service, self._session_id, request, self._answer)
        self._asked[request.request_id] = self._group.create_task(question, name="a question")

    def take_back(self, request_id: str) -> None:
        if (question := self._asked.pop(request_id, None)) is not None:
            question.cancel()


async def _answered(
    service: SessionService, session_id: SessionId, request: Inquiry, answer: Answerer
) -> None:
    with suppress(InvalidInput):  # the turn was stopped, or another door was quicker
        if isinstance(request, PermissionRequested):
            service.answer(session_id, request.request_id, await answer.decide(request))
            return
        reply = await answer.reply(request)
        try:
            service.reply(session_id, request.request_id, reply)
        except InvalidInput:
            service.reply(session_id, request.request_id, NOBODY_THERE)
            raise


def _stopped_by_signals(service: SessionService, session_id: SessionId) -> AbstractAsyncContextManager[None]:
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        service.stop(session_id, force=asked > 1)

    return on_signals(stop)
