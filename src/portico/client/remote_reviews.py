"""Review actions on a session that the user's server has open.

Decisions go to the server; proposals and checkpoints are read from the disk, which both share.
"""

from collections.abc import Sequence

from portico.client.session import Session
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId
from portico.sessions.review_actions import (
    ApplyReport,
    ChangedFiles,
    CheckpointSummary,
    FileContents,
    FinishReport,
    ProposalChoice,
    RestoreReport,
    ReviewActions,
    ReviewEnding,
    ReviewModeStatus,
    UndoReport,
)


class RemoteReviews:
    """Implements `ReviewActions` with a session of the server; `here` reads what is on the disk."""

    def __init__(self, served: Session, here: ReviewActions) -> None:
        self._served = served
        self._here = here

    async def proposals(self, session_id: SessionId, *, decided: bool = False) -> Sequence[ProposalUpdated]:
        return await self._here.proposals(session_id, decided=decided)

    async def proposal(self, session_id: SessionId, proposal_id: str) -> ProposalUpdated:
        return await self._here.proposal(session_id, proposal_id)

    async def contents(
        self, session_id: SessionId, proposal_id: str, paths: Sequence[str]
    ) -> Sequence[FileContents]:
        return await self._here.contents(session_id, proposal_id, paths)

    async def apply(self, session_id: SessionId, choice: ProposalChoice) -> ApplyReport:
        return await self._served.apply_choice(choice)

    async def discard(self, session_id: SessionId, choice: ProposalChoice) -> ProposalUpdated:
        return await self._served.discard_choice(choice)

    async def undo(self, session_id: SessionId, proposal_id: str) -> UndoReport:
        return await self._served.undo(proposal_id)

    async def revision_prompt(self, session_id: SessionId, choice: ProposalChoice, comment: str) -> str:
        return await self._here.revision_prompt(session_id, choice, comment)

    async def checkpoints(self, session_id: SessionId) -> Sequence[CheckpointSummary]:
        return await self._here.checkpoints(session_id)

    async def checkpoint_diff(
        self, session_id: SessionId, checkpoint_id: str, other: str | None = None
    ) -> ChangedFiles:
        return await self._here.checkpoint_diff(session_id, checkpoint_id, other)

    async def restore(self, session_id: SessionId, checkpoint_id: str) -> RestoreReport:
        return await self._served.restore(checkpoint_id)

    async def status(self, session_id: SessionId) -> ReviewModeStatus:
        return await self._here.status(session_id)

    async def finish(self, session_id: SessionId, ending: ReviewEnding, message: str | None) -> FinishReport:
        return await self._served.finish(ending, message)

    async def initialize_repository(self, session_id: SessionId) -> None:
        await self._here.initialize_repository(session_id)
