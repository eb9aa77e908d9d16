"""Apply, undo and discard of proposals, with a checkpoint before and after, through the attached window or
to the disk.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.review.checkpoints.checkpoint import Moment
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.driver import ReviewParts, checkpoint_payload
from portico.review.editor.unsaved_buffers import WorkspaceView, see
from portico.review.editor.window_apply import WindowApplier
from portico.review.files.atomic_apply import Applier, ChangeWriter
from portico.review.proposals.conflict_resolution import Side
from portico.review.proposals.decision import DecidedProposal
from portico.review.proposals.lifecycle import Proposals
from portico.review.proposals.selection import Selection
from portico.review.proposals.store import Proposal
from portico.review.session_records import ReviewRecord
from portico.review.text.change_set import ChangeSet, paths_of
from portico.sessions.windows import Windows


class ApplyJob(msgspec.Struct, frozen=True, kw_only=True):
    """Files that are about to be written, by which session, and how to describe it.

    A job that is `saved` goes to the disk even if a window has the files open.
    """

    session: str
    workspace: Path
    paths: Collection[str]
    doing: str
    saved: bool = False


class ApplyResult(msgspec.Struct, frozen=True):
    """Decision, payloads for the log, and unsaved texts of the person's files."""

    decided: DecidedProposal
    payloads: list[AnyPayload]
    typed: Mapping[str, bytes]


class CheckpointedApply:
    """Writes changes to a workspace with a checkpoint before and after."""

    def __init__(self, checkpoints: Checkpoints, applier: Applier, windows: Windows) -> None:
        self._checkpoints = checkpoints
        self._applier = applier
        self._windows = windows

    async def write(self, job: ApplyJob, decide: Callable[[ChangeWriter], DecidedProposal]) -> ApplyResult:
        payloads = [await self._checkpoint(job, f"Before {job.doing}", Moment.BEFORE_APPLY)]
        view = await see(self._windows, job.session, job.workspace, job.paths)
        through = None if view.window is None else self._through(job, view)
        decided = await asyncio.to_thread(decide, through or self._applier)
        if not decided.conflicted and not isinstance(payloads[0], Notice):
            # A later restore must not take these changes for the person's own.
            payloads.append(await self._checkpoint(job, f"After {job.doing}", Moment.AFTER_TURN))
        return ApplyResult(decided, payloads, view.typed if through is None else through.view.typed)

    def _through(self, job: ApplyJob, view: WorkspaceView) -> WindowApplier:
        loop = asyncio.get_running_loop()
        return WindowApplier(
            *(self._applier, self._windows, loop, job.session, view), doing=job.doing, saved=job.saved
        )

    async def _checkpoint(self, job: ApplyJob, label: str, moment: Moment) -> AnyPayload:
        try:
            taken = await self._checkpoints.create(
                job.workspace, label, moment, hurried=True, session=job.session
            )
            return checkpoint_payload(taken)
        except PorticoError as error:
            # An apply can be undone without one.
            return Notice(
                level="warning",
                text=f"No checkpoint was taken. {error.message}",
                details=error.details.suggestion,
            )


_TAKEN_BACK_ALREADY = Notice(
    level="info",
    text="Nothing to undo: the files already were as before. The changes are proposed again.",
)


class ProposalOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a decision: the proposal as it is now, and payloads for the log."""

    decided: DecidedProposal
    proposal: ProposalUpdated
    payloads: tuple[AnyPayload, ...]


class ProposalDecisions:
    """Apply, undo and discard for all sessions. The caller holds the session and has recovered its workspace."""

    def __init__(self, parts: ReviewParts, proposals: Proposals, writing: CheckpointedApply) -> None:
        self._parts = parts
        self._proposals = proposals
        self._writing = writing

    async def apply(
        self,
        review_record: ReviewRecord,
        proposal_id: str,
        revision: int,
        selection: Selection,
        resolve: Mapping[str, Side] | None,
    ) -> ProposalOutcome:
        """Write the chosen part to the person's files, with a checkpoint from before, all of it or nothing."""
        return await self._write(
            review_record,
            await self.owned(review_record.session, proposal_id, revision),
            lambda writer: self._proposals.apply(proposal_id, revision, selection, resolve, writer),
            doing="applying a proposal",
        )

    async def undo(
        self,
        review_record: ReviewRecord,
        proposal_id: str,
        revision: int | None,
        resolve: Mapping[str, Side] | None,
    ) -> ProposalOutcome:
        """Take the last apply back, with a checkpoint from before, all of it or nothing."""
        outcome = await self._write(
            review_record,
            await self.owned(review_record.session, proposal_id, revision),
            lambda writer: self._proposals.undo(proposal_id, revision, resolve, writer),
            doing="undoing an apply",
        )
        if not outcome.decided.already:
            return outcome
        return msgspec.structs.replace(outcome, payloads=(*outcome.payloads, _TAKEN_BACK_ALREADY))

    async def discard(
        self, review_record: ReviewRecord, proposal_id: str, revision: int, selection: Selection
    ) -> ProposalOutcome:
        """Give the chosen part up. It goes from the agent's own tree as well."""
        await self.owned(review_record.session, proposal_id)
        decided = await asyncio.to_thread(self._proposals.discard, proposal_id, revision, selection)
        return await self._outcome(review_record, proposal_id, ApplyResult(decided, [], {}))

    async def owned(self, session: str, proposal_id: str, revision: int | None = None) -> Proposal:
        """A proposal, which must be one of the session."""
        proposal = await asyncio.to_thread(self._proposals.get, proposal_id, revision)
        if proposal.session != session:
            raise InvalidInput(
                f"The session {session} has no proposal {proposal_id}.",
                suggestion=f"See what it proposes with: portico review show {session}",
            )
        return proposal

    async def _write(
        self,
        review_record: ReviewRecord,
        proposal: Proposal,
        decide: Callable[[ChangeWriter], DecidedProposal],
        *,
        doing: str,
    ) -> ProposalOutcome:
        last = proposal.applies[-1].undo if proposal.applies else ChangeSet()
        job = ApplyJob(
            session=review_record.session,
            workspace=Path(review_record.workspace),
            paths=paths_of(proposal.changes) | paths_of(last),
            doing=doing,
        )
        return await self._outcome(review_record, proposal.id, await self._writing.write(job, decide))

    async def _outcome(
        self, review_record: ReviewRecord, proposal_id: str, written: ApplyResult
    ) -> ProposalOutcome:
        """Bring a decision into the working copy, and describe the result."""
        session, workspace = review_record.session, Path(review_record.workspace)
        payloads = [
            *written.payloads,
            *await self._parts.sync.sync_decisions(workspace, session, written.typed),
        ]
        proposal = await asyncio.to_thread(self._proposals.payload, proposal_id)
        payloads += await self._parts.recovery.notices(workspace)
        return ProposalOutcome(decided=written.decided, proposal=proposal, payloads=(*payloads, proposal))
