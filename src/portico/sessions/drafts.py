"""Drafts and queued prompts of sessions, saved before watchers see a change.

Revisions are times, so that they keep growing when a draft is cleared, and across processes.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec

from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.sessions.ports import Clock, Store

MAX_QUEUE = 20
MAX_DRAFT_CHARACTERS = 1_000_000


class Drafts:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._changing = asyncio.Lock()
        self._changed: dict[SessionId, asyncio.Event] = {}
        self._newest_revision = clock.now_ms()

    async def get(self, session_id: SessionId) -> SessionDraft:
        # An empty draft is not stored, so it has no revision of its own; any earlier one is older.
        newest = self._newest_revision
        draft = await self._store.draft(session_id)
        return msgspec.structs.replace(draft, revision=newest) if draft.empty else draft

    async def watch(self, session_id: SessionId) -> AsyncGenerator[SessionDraft]:
        """The draft as it is now, then after each change, until the caller leaves."""
        while True:
            changed = self._changed.setdefault(session_id, asyncio.Event())
            yield await self.get(session_id)
            await changed.wait()

    async def write_draft(self, session_id: SessionId, text: str, client_id: str) -> SessionDraft:
        if len(text) > MAX_DRAFT_CHARACTERS:
            raise InvalidInput(
                f"A draft may have at most {MAX_DRAFT_CHARACTERS:,} characters.",
                suggestion="Put long text in a file and attach it.",
            )
        return await self._change(
            session_id, lambda draft: msgspec.structs.replace(draft, draft=text, client_id=client_id)
        )

    async def pin(self, session_id: SessionId, *, pinned: bool) -> None:
        """Keep a session at the top of lists, or no longer."""
        await self._change(session_id, lambda draft: msgspec.structs.replace(draft, pinned=pinned))

    async def enqueue(self, session_id: SessionId, queued: QueuedPrompt) -> None:
        """Add a prompt to the queue. InvalidInput if the queue is full."""

        def add(draft: SessionDraft) -> SessionDraft:
            if len(draft.queue) >= MAX_QUEUE:
                raise InvalidInput(
                    f"{MAX_QUEUE} prompts are queued already.",
                    suggestion="Wait for one to be sent, or remove one.",
                )
            return msgspec.structs.replace(draft, queue=(*draft.queue, queued))

        await self._change(session_id, add)

    async def remove_queued(self, session_id: SessionId, prompt_id: str) -> None:
        """Remove a queued prompt, if it is still queued."""

        def remove(draft: SessionDraft) -> SessionDraft:
            return msgspec.structs.replace(
                draft, queue=tuple(one for one in draft.queue if one.prompt_id != prompt_id)
            )

        await self._change(session_id, remove)

    async def change_queued(
        self, session_id: SessionId, prompt_id: str, *, text: str | None = None, place: int | None = None
    ) -> None:
        """Replace the text of a queued prompt, or move it. InvalidInput if it is no longer queued, or would be empty."""

        def change(draft: SessionDraft) -> SessionDraft:
            queue = list(draft.queue)
            at = next((at for at, one in enumerate(queue) if one.prompt_id == prompt_id), None)
            if at is None:
                raise InvalidInput("The prompt is no longer queued.")
            changed = queue.pop(at)
            if text is not None:
                changed = msgspec.structs.replace(changed, text=text)
                if not text.strip() and not changed.blocks:
                    raise InvalidInput("The prompt is empty.", suggestion="Remove it instead.")
            queue.insert(at if place is None else place, changed)
            return msgspec.structs.replace(draft, queue=tuple(queue))

        await self._change(session_id, change)

    async def _change(
        self, session_id: SessionId, change: Callable[[SessionDraft], SessionDraft]
    ) -> SessionDraft:
        async with self._changing:
            before = await self._store.draft(session_id)
            after = change(before)
            if after == before:
                return before
            revision = max(self._newest_revision, before.revision) + 1
            self._newest_revision = max(revision, self._clock.now_ms())
            after = msgspec.structs.replace(after, revision=self._newest_revision)
            try:
                await self._store.save_drafts(session_id, after)
            finally:
                # Also if the caller was cancelled: the change may have been saved.
                if (changed := self._changed.pop(session_id, None)) is not None:
                    changed.set()
        return after
