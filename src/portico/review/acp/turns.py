"""Turns of one session in an ACP editor: begin, end, and ask the person to apply, keep or discard.

What is decided is carried out by `ReviewService`; nothing is applied without a clear yes. A turn that is cancelled
asks nothing: what it changed waits, and is shown with the next one.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.review.acp.proposal_card import (
    APPLY,
    DISCARD,
    ProposalCard,
    applied_message,
    failure_message,
    kept_message,
    restore_hint,
    text,
)
from portico.review.acp.working_copy_files import EditorBuffers
from portico.review.acp.working_copy_proxy import ReviewedSession
from portico.review.service import ReviewService
from portico.rpc.messages import RpcError

_ASK = "session/request_permission"

Tell = Callable[[acp.SessionUpdate], None]
Ask = Callable[[str, acp.Wire], Awaitable[Raw]]


class EditorTurns:
    """The turns of one session. `tell` and `ask` speak to the editor in the agent's place."""

    def __init__(
        self,
        session: ReviewedSession,
        reviews: ReviewService,
        tell: Tell,
        ask: Ask,
        *,
        confined: bool = False,
    ) -> None:
        self.session = session
        self._reviews = reviews
        self._tell = tell
        self._ask = ask
        self._confined = confined
        self._shown: set[tuple[str, int]] = set()
        self._running = False

    async def begin(self, label: str) -> None:
        """PorticoError if the turn must not begin."""
        session = self.session
        if session.files is not None and not (self._confined and session.review.mode != "worktree"):
            self._show_notices(
                await self._reviews.note_files(
                    session.session_id, session.workspace, label, git_only=self._confined
                )
            )
        self._show_notices(await session.review.begin_turn(label))
        self._running = True

    async def end(self) -> None:
        """Write down what the agent has changed; nobody is asked."""
        if self._running:
            session = self.session
            self._show_notices(await self._reviews.changed_outside(session.session_id, session.workspace))
            self._show_notices(await session.review.end_turn())
            self._running = False

    async def finish(self, buffers: EditorBuffers, cancelled: asyncio.Event, *, asks: bool) -> None:
        """End a turn and, if it `asks`, let the person decide on all that waits and was not shown before."""
        try:
            await self.end()
            if asks:
                await self._decide(buffers, cancelled)
        except PorticoError as error:
            self._show("What this turn changed could not be shown.", failure_message(error), "failed")

    async def _decide(self, buffers: EditorBuffers, cancelled: asyncio.Event) -> None:
        for proposal in await self._reviews.proposals(self.session.session_id):
            key = proposal.id, proposal.revision
            if proposal.status == "open" and key not in self._shown and not cancelled.is_set():
                self._shown.add(key)
                await self._settle(*key, buffers, cancelled)

    async def _settle(
        self, proposal_id: str, revision: int, buffers: EditorBuffers, cancelled: asyncio.Event
    ) -> None:
        session_id = self.session.session_id
        told = await self._reviews.payload(session_id, proposal_id)
        changes = await self._reviews.changes(session_id, proposal_id, revision)
        card = ProposalCard(told, changes, self.session.workspace)
        self._tell(card.announced())
        match await self._asked(card, cancelled):
            case "apply":
                await self._apply(told, card, buffers)
            case "discard":
                await self._reviews.discard(session_id, proposal_id, revision)
                self._tell(card.ended("completed", "Discarded. Your files are as they were."))
            case "keep":
                self._tell(card.ended("completed", kept_message(session_id)))

    async def _asked(
        self, card: ProposalCard, cancelled: asyncio.Event
    ) -> Literal["apply", "keep", "discard"]:
        """What the person chose. Whatever goes wrong on the way to a clear answer keeps the proposal."""
        question = asyncio.ensure_future(self._ask(_ASK, card.question(self.session.agent_session_id)))
        gone = asyncio.ensure_future(cancelled.wait())
        try:
            await asyncio.wait((question, gone), return_when=asyncio.FIRST_COMPLETED)
            if not question.done():
                return "keep"
            outcome = decode(question.result(), acp.RequestPermissionResponse).outcome
        except (RpcError, msgspec.DecodeError):
            return "keep"
        finally:
            question.cancel()
            gone.cancel()
        chosen = outcome.option_id if isinstance(outcome, acp.SelectedPermissionOutcome) else None
        return "apply" if chosen == APPLY else "discard" if chosen == DISCARD else "keep"

    async def _apply(self, told: ProposalUpdated, card: ProposalCard, buffers: EditorBuffers) -> None:
        try:
            await self._save_open_files(told, buffers)
            session_id = self.session.session_id
            decided = (await self._reviews.apply(session_id, told.proposal_id, told.revision)).decided
        except PorticoError as error:
            self._tell(card.ended("failed", failure_message(error)))
            return
        status: acp.ToolCallStatus = "failed" if decided.conflicted else "completed"
        self._tell(card.ended(status, applied_message(decided, self.session.workspace)))

    async def _save_open_files(self, told: ProposalUpdated, buffers: EditorBuffers) -> None:
        """Let the editor save what it has open of these files, so that the apply merges with it and keeps it."""
        files = self.session.files
        if files is None:
            return
        for file in told.files:
            path = file.old_path or file.path
            shown = await files.unsaved(self.session.agent_session_id, path, buffers)
            if shown is not None and not await buffers.save(
                self.session.agent_session_id, self.session.workspace / path, shown
            ):
                raise InvalidInput(
                    f"Nothing was applied: {path} has changes in your editor that are not saved.",
                    suggestion=f"Save it, then run `portico review apply --session {self.session.session_id}`.",
                )

    def _show_notices(self, payloads: Sequence[AnyPayload]) -> None:
        for payload in payloads:
            if isinstance(payload, Notice):
                words = payload.details or payload.text
                if payload.checkpoint_id is not None:
                    words += f"\n\n{restore_hint(payload.checkpoint_id, self.session.session_id)}"
                self._show(payload.text, words, "completed")

    def _show(self, title: str, words: str, status: acp.ToolCallStatus) -> None:
        """Say something in Portico's own name, for which ACP has nothing that every editor shows but a tool call."""
        call_id = f"portico-{secrets.token_hex(6)}"
        self._tell(acp.ToolCall(tool_call_id=call_id, title=title, status=status, content=[text(words)]))
