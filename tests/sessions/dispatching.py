"""A host in memory with what a server adds to it: drafts, a turn queue and cleanup."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from portico.acp import _schema as acp
from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import Event, PromptSubmitted
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.sessions.cleanup import SessionCleanup
from portico.sessions.drafts import Drafts
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt
from portico.sessions.turn_queue import TurnQueue
from portico.testing.store import MemoryStore
from tests.sessions.support import SPEC, Answer, FakeAgent, World, world

Result = TypeVar("Result")


async def _agent_of(_: SessionSummary) -> AgentSpec:
    return SPEC


class Doors:
    """Everything that calls can do to sessions, and the agent that waits until it is told to go on."""

    def __init__(self, host: World) -> None:
        self.host = host
        self.drafts = Drafts(host.store, host.clock)
        self.turn_queue = TurnQueue(host.service, self.drafts, _agent_of)
        self.cleanup = SessionCleanup(host.service, self.turn_queue, self.drafts, host.store, host.clock)

    @property
    def session_id(self) -> SessionId:
        return self.host.session_id

    def sending(self, text: str, *, queue: bool = False) -> AsyncGenerator[Event | QueuedPrompt]:
        return self.turn_queue.send(self.session_id, TurnPrompt(text=text), queue=queue)

    def send(self, text: str, *, queue: bool = False) -> "asyncio.Task[list[Event | QueuedPrompt]]":
        """A caller that stays to the end."""
        return asyncio.create_task(self.all_of(self.sending(text, queue=queue)))

    async def all_of(self, stream: AsyncGenerator[Event | QueuedPrompt]) -> list[Event | QueuedPrompt]:
        return [update async for update in stream]

    async def queued(self, text: str) -> QueuedPrompt:
        """Put a prompt in line and leave."""
        stream = self.sending(text, queue=True)
        queued = await self.within(anext(stream))
        await stream.aclose()
        assert isinstance(queued, QueuedPrompt)
        return queued

    async def line(self) -> list[str]:
        return [one.text for one in (await self.drafts.get(self.session_id)).queue]

    async def sent(self) -> list[str]:
        """Every prompt in the log."""
        return [
            event.payload.text
            for event in await self.host.events()
            if isinstance(event.payload, PromptSubmitted)
        ]

    @property
    def heard(self) -> list[str]:
        """Every prompt that the agent got."""
        texts = [block for request in self.host.agent.prompts for block in request.prompt]
        return [block.text for block in texts if isinstance(block, acp.TextContent)]

    async def within(self, work: Awaitable[Result]) -> Result:
        """Let time pass until the work is done."""
        task = asyncio.ensure_future(work)
        async with asyncio.timeout(10):
            while not task.done():
                await self.host.clock.advance(0.05)
        return await task

    async def until_heard(self, *texts: str) -> None:
        async def heard() -> None:
            while self.heard != list(texts):  # noqa: ASYNC110 - the agent gives no other sign
                await asyncio.sleep(0)

        await self.within(heard())

    async def until_idle(self) -> None:
        async def idle() -> None:
            while self.turn_queue.has_turn(self.session_id):  # noqa: ASYNC110 - nothing here could set an event
                await asyncio.sleep(0)

        await self.within(idle())


class Patient:
    """An agent that answers each prompt when it is told to."""

    def __init__(self) -> None:
        self._go_on = asyncio.Semaphore(0)

    async def __call__(self, agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
        told = asyncio.create_task(self._go_on.acquire())
        stopped = asyncio.create_task(agent.canceled.wait())
        await asyncio.wait((told, stopped), return_when=asyncio.FIRST_COMPLETED)
        reason: acp.StopReason = "end_turn" if told.done() else "cancelled"
        for task in (told, stopped):
            task.cancel()
        return acp.PromptResponse(stop_reason=reason)

    def go_on(self, times: int = 1) -> None:
        for _ in range(times):
            self._go_on.release()


class SlowDesks(MemoryStore):
    """A store in which whatever is taken from a desk takes its time, or fails."""

    slow = False
    broken = False

    async def save_drafts(self, session_id: SessionId, desk: SessionDraft) -> None:
        if self.broken:
            raise StoreFailed("the disk is full")
        for _ in range(500 if self.slow else 0):
            await asyncio.sleep(0)
        await super().save_drafts(session_id, desk)


@asynccontextmanager
async def doors(answer: Answer, folder: Path, *, store: MemoryStore | None = None) -> AsyncIterator[Doors]:
    async with world(answer, folder, store=store) as host:
        await host.start()
        made = Doors(host)
        try:
            yield made
        finally:
            async with asyncio.timeout(10):
                await made.turn_queue.close()
