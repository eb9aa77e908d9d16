"""Owns the desks of the sessions that are in use: what is being written, what waits to be sent.

Every change is kept before anybody is told of it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable

import msgspec
from msgspec import Raw

from portico.domain.desks import Desk, QueuedPrompt
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.sessions.ports import Store

MAX_QUEUE = 20
MAX_DRAFT_CHARACTERS = 1_000_000


class Desks:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._changing: dict[SessionId, asyncio.Lock] = {}
        self._changed: dict[SessionId, asyncio.Event] = {}

    async def get(self, session_id: SessionId) -> Desk:
        return await self._store.desk(session_id)

    async def watch(self, session_id: SessionId) -> AsyncIterator[Desk]:
        """The desk as it is, then as it is after changes, until the caller leaves."""
        while True:
            changed = self._changed.setdefault(session_id, asyncio.Event())
            yield await self._store.desk(session_id)
            await changed.wait()

    async def write_draft(self, session_id: SessionId, text: str, client_id: str) -> Desk:
        if len(text) > MAX_DRAFT_CHARACTERS:
            raise InvalidInput(
                f"A draft may have {MAX_DRAFT_CHARACTERS:,} characters.",
                suggestion="Put the long part into a file and attach it.",
            )
        return await self._change(
            session_id, lambda desk: msgspec.structs.replace(desk, draft=text, client_id=client_id)
        )

    async def enqueue(self, session_id: SessionId, text: str, blocks: tuple[Raw, ...] = ()) -> QueuedPrompt:
        """Put a prompt behind those that wait. InvalidInput when too many do."""
        queued = QueuedPrompt(prompt_id=secrets.token_hex(8), text=text, blocks=blocks)

        def add(desk: Desk) -> Desk:
            if len(desk.queue) >= MAX_QUEUE:
                raise InvalidInput(
                    f"{MAX_QUEUE} prompts wait already.", suggestion="Wait for one to be sent, or remove one."
                )
            return msgspec.structs.replace(desk, queue=(*desk.queue, queued))

        await self._change(session_id, add)
        return queued

    async def take_out(self, session_id: SessionId, prompt_id: str) -> None:
        """Remove a prompt that waits. Nothing happens if it does not wait any more."""

        def remove(desk: Desk) -> Desk:
            return msgspec.structs.replace(
                desk, queue=tuple(one for one in desk.queue if one.prompt_id != prompt_id)
            )

        await self._change(session_id, remove)

    async def _change(self, session_id: SessionId, change: Callable[[Desk], Desk]) -> Desk:
        async with self._changing.setdefault(session_id, asyncio.Lock()):
            before = await self._store.desk(session_id)
            after = change(before)
            if after == before:
                return before
            after = msgspec.structs.replace(after, revision=before.revision + 1)
            await self._store.keep_desk(session_id, after)
        if (changed := self._changed.pop(session_id, None)) is not None:
            changed.set()
        return after
