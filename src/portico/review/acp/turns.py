"""Turns of one session in an ACP editor: begin, end, and ask the person to apply, keep or discard each proposal.

`ReviewService` carries out the decision; nothing is applied unless the person chose to. A cancelled turn asks nothing:
its changes are kept as a proposal and shown after the next turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.conductor.proxies.notices import portico_call
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.review.acp.notice import notice_call
from portico.review.acp.proposal_card import (
    APPLY,
    DISCARD,
    ProposalCard,
    applied_message,
    failure_message,
    kept_message,
)
from portico.review.acp.working_copy_files import EditorBuffers
from portico.review.acp.working_copy_proxy import ReviewedSession
from portico.review.service import ReviewService
from portico.rpc.messages import RpcError
from portico.sessions.turn_review import ReviewSubject, TurnReview

_ASK = "session/request_permission"

Tell = Callable[[acp.SessionUpdate], None]
Ask = Callable[[str, acp.Wire], Awaitable[Raw]]


class EditorTurns:
    """Turns of one session. `tell` and `ask` speak to the editor on the agent's behalf."""

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
        subject = ReviewSubject(
            session_id=session.session_id, workspace=session.workspace, mode=session.review.mode
        )
        self._review = TurnReview(subject, reviews, self._show, review=session.review)

    async def begin(self, label: str) -> None:
        """Prepare a turn; PorticoError if it must not begin."""
        await self._review.note_files(label, confined=self._confined)
        try:
            await self._review.begin_turn(label)
        except PorticoError:
            await self._review.end_turn()
            raise
        self._running = True

    async def end(self) -> None:
        """Propose what the agent changed, without asking the person. Without a running turn, do nothing."""
        if self._running:
            await self._review.end_turn()
            self._running = False

    async def finish(self, buffers: EditorBuffers, cancelled: asyncio.Event, *, asks: bool) -> None:
        """End a turn and, if it `asks`, let the person decide on each open proposal that was not shown before."""
        try:
            await self.end()
            if asks:
                await self._decide_all(buffers, cancelled)
        except PorticoError as error:
            self._tell(
                portico_call("The changes of this turn could not be shown.", failure_message(error), "failed")
            )

    async def _decide_all(self, buffers: EditorBuffers, cancelled: asyncio.Event) -> None:
        for proposal in await self._reviews.proposals(self.session.session_id):
            key = proposal.id, proposal.revision
            if proposal.status == "open" and key not in self._shown and not cancelled.is_set():
                self._shown.add(key)
                await self._decide(*key, buffers, cancelled)

    async def _decide(
        self, proposal_id: str, revision: int, buffers: EditorBuffers, cancelled: asyncio.Event
    ) -> None:
        session_id = self.session.session_id
        proposal = await self._reviews.payload(session_id, proposal_id)
        changes = await self._reviews.changes(session_id, proposal_id, revision)
        card = ProposalCard(proposal, changes, self.session.workspace)
        self._tell(card.announced())
        match await self._choice(card, cancelled):
            case "apply":
                await self._apply(proposal, card, buffers)
            case "discard":
                await self._reviews.discard(session_id, proposal_id, revision)
                self._tell(card.ended("completed", "Discarded. Your files are as they were."))
            case "keep":
                self._tell(card.ended("completed", kept_message(session_id)))

    async def _choice(
        self, card: ProposalCard, cancelled: asyncio.Event
    ) -> Literal["apply", "keep", "discard"]:
        """The person's choice. Without a clear answer, the proposal is kept."""
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

    async def _apply(self, proposal: ProposalUpdated, card: ProposalCard, buffers: EditorBuffers) -> None:
        try:
            await self._save_open_files(proposal, buffers)
            session_id = self.session.session_id
            outcome = await self._reviews.apply(session_id, proposal.proposal_id, proposal.revision)
        except PorticoError as error:
            self._tell(card.ended("failed", failure_message(error)))
            return
        status: acp.ToolCallStatus = "failed" if outcome.decided.conflicted else "completed"
        self._tell(card.ended(status, applied_message(outcome.decided, self.session.workspace)))

    async def _save_open_files(self, proposal: ProposalUpdated, buffers: EditorBuffers) -> None:
        """Have the editor save its unsaved text of these files, so that the apply merges with it."""
        files = self.session.files
        if files is None:
            return
        for file in proposal.files:
            path = file.old_path or file.path
            unsaved = await files.unsaved(self.session.agent_session_id, path, buffers)
            if unsaved is not None and not await buffers.save(
                self.session.agent_session_id, self.session.workspace / path, unsaved
            ):
                raise InvalidInput(
                    f"Nothing was applied: {path} has unsaved changes in your editor.",
                    suggestion=f"Save it, then run `portico review apply --session {self.session.session_id}`.",
                )

    def _show(self, payload: AnyPayload) -> None:
        """Notices are shown; proposals are asked about, and checkpoints need no word."""
        if isinstance(payload, Notice):
            self._tell(notice_call(payload, self.session.session_id))
