"""Review actions on a session that the user's server has open.

What is decided goes to the server, which has the session. What there is to see is on the disk that both
share, so it is read here.
"""

from collections.abc import Sequence

from portico.api.fields import to_enum
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.domain.events import CheckpointRestored, ProposalUpdated
from portico.domain.ids import SessionId
from portico.doors.api.client import ServerCalls
from portico.sessions.review_actions import (
    ApplyReport,
    ChangedFiles,
    CheckpointSummary,
    FileContents,
    FinishReport,
    ProposalChoice,
    ProposalFileChoice,
    RestoreReport,
    ReviewActions,
    ReviewEnding,
    ReviewModeStatus,
    UndoReport,
)


class RemoteReviews:
    """Implements `ReviewActions`; `here` reads from the disk."""

    def __init__(self, calls: ServerCalls, here: ReviewActions) -> None:
        self._calls = calls
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
        request = pb.ApplyProposalRequest(
            session_id=session_id,
            proposal_id=choice.proposal_id,
            revision=choice.revision,
            files=_file_choices(choice.files),
        )
        async with self._calls.client() as (client, headers):
            told = await client.apply_proposal(request, headers=headers)
        proposal = await self._here.proposal(session_id, choice.proposal_id)
        conflicted = () if told.applied else tuple(file.path for file in proposal.files if file.conflict)
        refused = () if choice.files else tuple(file.path for file in proposal.files if file.denied)
        return ApplyReport(
            proposal=proposal, merged=tuple(told.merged), conflicted=conflicted, refused=refused
        )

    async def discard(self, session_id: SessionId, choice: ProposalChoice) -> ProposalUpdated:
        request = pb.DiscardProposalRequest(
            session_id=session_id,
            proposal_id=choice.proposal_id,
            revision=choice.revision,
            files=_file_choices(choice.files),
        )
        async with self._calls.client() as (client, headers):
            await client.discard_proposal(request, headers=headers)
        return await self._here.proposal(session_id, choice.proposal_id)

    async def undo(self, session_id: SessionId, proposal_id: str) -> UndoReport:
        request = pb.UndoApplyRequest(session_id=session_id, proposal_id=proposal_id)
        async with self._calls.client() as (client, headers):
            told = await client.undo_apply(request, headers=headers)
        proposal = await self._here.proposal(session_id, proposal_id)
        return UndoReport(proposal=proposal, undone=told.undone, already=told.already)

    async def revision_prompt(self, session_id: SessionId, choice: ProposalChoice, comment: str) -> str:
        return await self._here.revision_prompt(session_id, choice, comment)

    async def checkpoints(self, session_id: SessionId) -> Sequence[CheckpointSummary]:
        return await self._here.checkpoints(session_id)

    async def checkpoint_diff(
        self, session_id: SessionId, checkpoint_id: str, other: str | None = None
    ) -> ChangedFiles:
        return await self._here.checkpoint_diff(session_id, checkpoint_id, other)

    async def restore(self, session_id: SessionId, checkpoint_id: str) -> RestoreReport:
        request = pb.RestoreCheckpointRequest(session_id=session_id, checkpoint_id=checkpoint_id)
        async with self._calls.client() as (client, headers):
            answer = await client.restore_checkpoint(request, headers=headers)
        told = answer.restored or events_pb.CheckpointRestored()
        restored = CheckpointRestored(
            checkpoint_id=told.checkpoint_id,
            kept_checkpoint_id=told.kept_checkpoint_id,
            files=told.files,
            proposal_id=told.proposal_id or None,
        )
        aside = restored.proposal_id
        return RestoreReport(
            restored=restored,
            proposal=None if aside is None else await self._here.proposal(session_id, aside),
        )

    async def status(self, session_id: SessionId) -> ReviewModeStatus:
        return await self._here.status(session_id)

    async def finish(self, session_id: SessionId, ending: ReviewEnding, message: str | None) -> FinishReport:
        request = pb.FinishReviewRequest(
            session_id=session_id, ending=to_enum(pb.ReviewEnding, ending), message=message or ""
        )
        async with self._calls.client() as (client, headers):
            told = await client.finish_review(request, headers=headers)
        return FinishReport(commit=told.commit, reference=told.reference, notes=tuple(told.notes))


def _file_choices(files: Sequence[ProposalFileChoice]) -> list[pb.FileChoice]:
    return [
        pb.FileChoice(
            path=one.path, hunk_ids=list(one.hunk_ids), resolve=to_enum(pb.ConflictSide, one.resolve)
        )
        for one in files
    ]
