"""Runs one turn for a command: shows its events, gets its questions answered, obeys Ctrl-C.

The first Ctrl-C stops the turn, the second ends the agent at once.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from portico.domain.errors import InvalidInput
from portico.domain.events import Event, PermissionRequested, PromptSubmitted
from portico.domain.ids import SessionId
from portico.sessions.deadlines import put_down
from portico.sessions.permissions import Decision
from portico.sessions.service import SessionService, ends_turn
from portico.sessions.turn import Prompt

Show = Callable[[Event], Awaitable[None]]
Answer = Callable[[PermissionRequested], Awaitable[Decision]]

_STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


async def follow_turn(
    service: SessionService,
    session_id: SessionId,
    prompt: Prompt,
    *,
    after_seq: int,
    show: Show,
    answer: Answer,
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
    service: SessionService, session_id: SessionId, *, after_seq: int, show: Show, answer: Answer
) -> int:
    held: list[Event] | None = []
    async with _questions() as ask:
        async for event in service.watch(session_id, after_seq=after_seq):
            if held is not None:
                held.append(event)
                if not isinstance(event.payload, PromptSubmitted):
                    continue
            for one in held or [event]:
                await show(one)
            held = None
            if isinstance(event.payload, PermissionRequested):
                ask(_answered(service, session_id, event.payload, answer))
            if ends_turn(event):
                return event.seq
    return after_seq


@asynccontextmanager
async def _questions() -> AsyncIterator[Callable[[Coroutine[Any, Any, None]], None]]:
    """Asks questions side by side. At the end, those that nobody has answered are taken back."""
    asked: list[asyncio.Task[None]] = []
    try:
        async with asyncio.TaskGroup() as group:
            yield lambda question: asked.append(group.create_task(question, name="a question"))
            for question in asked:
                question.cancel()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _answered(
    service: SessionService, session_id: SessionId, request: PermissionRequested, answer: Answer
) -> None:
    decision = await answer(request)
    try:
        service.answer(session_id, request.request_id, decision)
    except InvalidInput:
        return  # the turn was stopped, or another door was quicker


@asynccontextmanager
async def _stopped_by_signals(service: SessionService, session_id: SessionId) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        service.stop(session_id, force=asked > 1)

    previous = {}
    for number in _STOP_SIGNALS:
        previous[number] = signal.getsignal(number)
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows: the loop takes no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        for number, handler in previous.items():
            try:
                loop.remove_signal_handler(number)
            except NotImplementedError:
                pass
            signal.signal(number, handler)
