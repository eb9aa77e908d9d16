"""Windows played by a test: attached to the real registry in memory, on a clock of the test."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from portico.domain.events import AnyPayload, EditorReplied, EditorRequested
from portico.domain.ids import SessionId
from portico.domain.windows import (
    WindowAbilities,
    WindowAttached,
    WindowIntroduction,
    WindowRequest,
    WindowRequestCancelled,
    WindowResult,
    WindowUpdate,
)
from portico.editors.window_registry import AttachedWindows
from portico.testing import ManualClock

SESSION = SessionId("s1")
EVERYTHING = WindowAbilities(buffers=True, edits=True, lookups=True, commands=True)


class Played:
    """One window. What it is told waits in `told` until the test takes it."""

    def __init__(
        self, desk: "Desk", folders: tuple[Path, ...], name: str, abilities: WindowAbilities
    ) -> None:
        self.desk = desk
        self.id = ""
        self.answers: Callable[[Any], WindowResult | None] | None = None
        self._hello = WindowIntroduction(
            name=name, folders=tuple(str(folder) for folder in folders), abilities=abilities
        )
        self._told: asyncio.Queue[WindowUpdate] = asyncio.Queue()

    async def read(self) -> None:
        """Take what comes at once, as a window does that is well. Requests are answered where a test said how."""
        async with aclosing(self.desk.windows.attach(self._hello)) as updates:
            async for update in updates:
                answer = None
                if isinstance(update, WindowRequest) and self.answers is not None:
                    answer = self.answers(update.question)
                if answer is not None and isinstance(update, WindowRequest):
                    self.desk.windows.reply(update.request_id, answer)
                else:
                    self._told.put_nowait(update)

    async def next(self) -> WindowUpdate:
        async with asyncio.timeout(10):
            return await self._told.get()

    async def request(self) -> WindowRequest:
        told = await self.next()
        assert isinstance(told, WindowRequest), told
        return told

    async def cancelled(self) -> str:
        told = await self.next()
        assert isinstance(told, WindowRequestCancelled), told
        return told.request_id

    def update_status(self, *unsaved: Path, focused: bool = False) -> None:
        self.desk.windows.update_status(self.id, [str(path) for path in unsaved], focused=focused)


class Desk:
    """The desk, and what sessions were told of it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.told: list[AnyPayload] = []
        self.windows = AttachedWindows(self.clock, self.tell)

    def tell(self, session_id: SessionId, payload: AnyPayload) -> None:
        assert session_id == SESSION
        self.told.append(payload)

    @property
    def outcomes(self) -> list[tuple[str, bool, str | None]]:
        """Each request with what came of it."""
        asked = {one.request_id: one.title for one in self.told if isinstance(one, EditorRequested)}
        replies = [one for one in self.told if isinstance(one, EditorReplied)]
        assert len({one.request_id for one in replies}) == len(replies)
        return [(asked[one.request_id], one.done, one.message) for one in replies]

    @asynccontextmanager
    async def window(
        self, *folders: Path, name: str = "VS Code", abilities: WindowAbilities = EVERYTHING
    ) -> AsyncIterator[Played]:
        played = Played(self, folders, name, abilities)
        reading = asyncio.create_task(played.read())
        hello = asyncio.create_task(played.next())
        try:
            await asyncio.wait((reading, hello), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                await reading
            attached = await hello
            assert isinstance(attached, WindowAttached)
            played.id = attached.editor_id
            yield played
        finally:
            for task in (hello, reading):
                task.cancel()
            await asyncio.gather(hello, reading, return_exceptions=True)
